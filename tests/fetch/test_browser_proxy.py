"""What a rendered page can reach: the proxy, asked without a browser."""

import json
import socket
import threading
from contextlib import closing
from urllib.parse import urlsplit

import pytest

from trawl_core.clock import SystemClock
from trawl_core.fetch import browser_proxy
from trawl_core.fetch.address_slots import AddressSlots
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


def proxy_for(port, networks=("127.0.0.0/8",), **beside):
    entry = {
        "domain": "site.test",
        "seeds": ["http://site.test/"],
        "network": {"allow_networks": list(networks), "allow_ports": [port]},
        "timeout": {"connect_s": 2, "read_s": 2, "total_s": 5},
        "host_concurrency": 1,
    }
    config = parse_sites(json.dumps({"user_agent": "TrawlBot/1.0 (+https://example.org/bot)", "sites": [entry]}))
    return BrowserProxy(config.sites[0], Names(), **beside)


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


@pytest.fixture
def slots(tmp_path):
    with closing(AddressSlots(tmp_path, 1, SystemClock())) as requests, closing(requests.for_connections()) as connections:
        yield connections


class Asking(threading.Thread):
    """Asks in the background; `answer` is there once it was joined."""

    def __init__(self, proxy, request, until):
        super().__init__(daemon=True)
        self._asked = (proxy, request, until)
        self.start()

    def run(self):
        self.answer = ask(*self._asked)


def wait_until(is_so):
    waited = threading.Event()
    while not is_so():
        waited.wait(0.005)


def test_a_connection_waits_for_a_slot_of_its_address(server, slots):
    port, heard = server
    slot = slots.take("127.0.0.1", 1)
    with proxy_for(port, slots=slots) as proxy:
        asking = Asking(proxy, f"GET http://site.test:{port}/ HTTP/1.1\r\n\r\n".encode(), b"hi")
        wait_until(lambda: proxy._wanted["127.0.0.1"])
        assert heard == []
        slots.give_back("127.0.0.1", slot)
        asking.join()
    assert asking.answer.endswith(b"hi")
    wait_until(lambda: slots.take("127.0.0.1", 1) is not None)


def test_the_page_has_a_slot_of_its_own_address(server, slots):
    port, _ = server
    slots.take("127.0.0.1", 1)
    with proxy_for(port, slots=slots, address="127.0.0.1") as proxy:
        for _ in range(2):
            assert ask(proxy, f"GET http://site.test:{port}/ HTTP/1.1\r\n\r\n".encode(), b"hi").endswith(b"hi")


def test_a_quiet_tunnel_gives_its_slot_to_one_that_waits(server, slots, monkeypatch):
    monkeypatch.setattr(browser_proxy, "IDLE_TUNNEL_S", 0.05)
    port, heard = server
    tunnel = f"CONNECT site.test:{port} HTTP/1.1\r\n\r\nhello".encode()
    with proxy_for(port, slots=slots) as proxy, socket.create_connection(("127.0.0.1", urlsplit(proxy.url).port), timeout=5) as client:
        client.sendall(tunnel)
        while not client.recv(65536).endswith(b"hi"):
            pass
        assert ask(proxy, tunnel, b"hi").endswith(b"hi")
        assert client.recv(1) == b""
    assert heard == [b"hello", b"hello"]


def test_who_waits_when_the_page_is_done_is_told_so(server, slots):
    port, heard = server
    slots.take("127.0.0.1", 1)
    proxy = proxy_for(port, slots=slots)
    asking = Asking(proxy, f"CONNECT site.test:{port} HTTP/1.1\r\n\r\n".encode(), b"\r\n\r\n")
    wait_until(lambda: proxy._wanted["127.0.0.1"])
    proxy.close()
    asking.join()
    assert heard == []
