"""What a rendered page can reach: the proxy, asked without a browser."""

import json
import socket
import threading
from urllib.parse import urlsplit

import pytest

from trawl_core.fetch.browser_proxy import BrowserProxy
from trawl_core.sites import parse_sites


class Names:
    """Every name leads to one address."""

    def resolve(self, host, port):
        return [(int(socket.AF_INET), "127.0.0.1")]


@pytest.fixture
def server():
    """Answers each connection once and keeps it open; `heard` are the first bytes of each."""
    listener = socket.create_server(("127.0.0.1", 0))
    heard, kept = [], []

    def serve():
        while True:
            try:
                client, _ = listener.accept()
            except OSError:
                return
            kept.append(client)
            heard.append(client.recv(65536))
            client.sendall(b"HTTP/1.1 200 OK\r\nConnection: keep-alive\r\nContent-Length: 2\r\n\r\nhi")

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    yield listener.getsockname()[1], heard
    listener.shutdown(socket.SHUT_RDWR)
    listener.close()
    thread.join()
    for client in kept:
        client.close()


def proxy_for(port, networks=("127.0.0.0/8",)):
    entry = {
        "domain": "site.test",
        "seeds": ["http://site.test/"],
        "network": {"allow_networks": list(networks), "allow_ports": [port]},
        "timeout": {"connect_s": 2, "read_s": 2, "total_s": 5},
    }
    config = parse_sites(json.dumps({"user_agent": "TrawlBot/1.0 (+https://example.org/bot)", "sites": [entry]}))
    return BrowserProxy(config.sites[0], Names())


def ask(proxy, request, until):
    with socket.create_connection(("127.0.0.1", urlsplit(proxy.url).port), timeout=5) as client:
        client.sendall(request)
        received = b""
        while until not in received and (data := client.recv(65536)):
            received += data
        return received


def test_a_request_goes_on_in_origin_form_and_its_connection_is_the_last(server):
    port, heard = server
    with proxy_for(port) as proxy:
        answer = ask(
            proxy, f"GET http://site.test:{port}/a?b HTTP/1.1\r\nHost: site.test\r\nProxy-Connection: keep-alive\r\n\r\n".encode(), b"hi"
        )
    assert heard == [b"GET /a?b HTTP/1.1\r\nHost: site.test\r\nConnection: close\r\n\r\n"]
    assert answer == b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nhi"
    assert proxy.received_bytes > 40
    assert proxy.refused == []


def test_a_tunnel_carries_both_ways(server):
    port, heard = server
    with proxy_for(port) as proxy:
        answer = ask(proxy, f"CONNECT site.test:{port} HTTP/1.1\r\n\r\nhello".encode(), b"hi")
    assert heard == [b"hello"]
    assert answer.startswith(b"HTTP/1.1 200 Connection established\r\n\r\nHTTP/1.1 200 OK")


@pytest.mark.parametrize("host", ["site.test", "127.0.0.1", "[::ffff:127.0.0.1]", "[::1]"])
@pytest.mark.parametrize("form", ["GET http://{where}/ HTTP/1.1", "CONNECT {where} HTTP/1.1"])
def test_a_private_address_is_refused_in_either_form(server, host, form):
    port, heard = server
    with proxy_for(port, networks=()) as proxy:
        answer = ask(proxy, (form.format(where=f"{host}:{port}") + "\r\n\r\n").encode(), b"\r\n\r\n")
    assert answer.startswith(b"HTTP/1.1 403 ")
    assert len(proxy.refused) == 1
    assert heard == []


@pytest.mark.parametrize(
    "request_line",
    [
        "POST http://site.test:{port}/ HTTP/1.1",
        "GET / HTTP/1.1",
        "GET ftp://site.test:{port}/ HTTP/1.1",
        "CONNECT site.test HTTP/1.1",
        "nonsense",
    ],
)
def test_what_is_no_reading_request_is_not_passed_on(server, request_line):
    port, heard = server
    with proxy_for(port) as proxy:
        answer = ask(proxy, (request_line.format(port=port) + "\r\n\r\n").encode(), b"\r\n\r\n")
    assert answer.startswith(b"HTTP/1.1 400 ")
    assert heard == []
