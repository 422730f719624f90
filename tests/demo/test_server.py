"""The demo server speaks HTTP/1.1 as a real site does."""

from __future__ import annotations

import gzip
import http.client

import pytest

from trawl_core.demo.content import FIRST_EDITION, Answer, SiteContent
from trawl_core.demo.server import DemoServer, is_unchanged

BODY = b"<p>" + b"a page of words " * 400 + b"</p>"


def content(night: int, origin: str) -> SiteContent:
    answers = {
        "/plain": Answer(body=b"night %d of %s" % (night, origin.encode())),
        "/gzip": Answer(body=BODY, gzip=True),
        "/chunked": Answer(body=BODY, gzip=True, chunked=True),
        "/dated": Answer(body=BODY, validators="last_modified"),
        "/bare": Answer(body=BODY, validators="none"),
        "/busy": Answer(body=b"at last"),
    }
    return SiteContent("test", night, answers, busy_first={"/busy": Answer(503, headers=(("Retry-After", "1"),))})


@pytest.fixture
def server():
    with DemoServer("127.0.0.2", 0, content) as running:
        yield running


def get(server: DemoServer, path: str, **headers: str) -> tuple[http.client.HTTPResponse, bytes]:
    connection = http.client.HTTPConnection(server.host, server.port, timeout=10)
    try:
        connection.request("GET", path, headers={name.replace("_", "-"): value for name, value in headers.items()})
        answer = connection.getresponse()
        return answer, answer.read()
    finally:
        connection.close()


def test_a_connection_serves_many_requests(server):
    connection = http.client.HTTPConnection(server.host, server.port, timeout=10)
    connection.request("GET", "/plain")
    assert connection.getresponse().read() == b"night 0 of " + server.origin.encode()
    first = connection.sock
    connection.request("GET", "/chunked", headers={"Accept-Encoding": "gzip"})
    connection.getresponse().read()
    connection.request("GET", "/nowhere")
    answer = connection.getresponse()
    answer.read()
    assert answer.status == 404
    assert connection.sock is first
    connection.close()
    assert server.requests == {"/plain": 1, "/chunked": 1, "/nowhere": 1}


def test_coding_and_framing_are_as_declared(server):
    answer, payload = get(server, "/gzip", Accept_Encoding="gzip")
    assert (answer.getheader("Content-Encoding"), gzip.decompress(payload)) == ("gzip", BODY)
    assert int(answer.getheader("Content-Length")) == len(payload)
    answer, payload = get(server, "/chunked", Accept_Encoding="deflate, gzip")
    assert (answer.getheader("Transfer-Encoding"), answer.getheader("Content-Length")) == ("chunked", None)
    assert gzip.decompress(payload) == BODY


def test_a_client_without_gzip_gets_the_plain_body_and_another_etag(server):
    coded, _ = get(server, "/gzip", Accept_Encoding="gzip")
    plain, payload = get(server, "/gzip")
    assert (plain.getheader("Content-Encoding"), payload) == (None, BODY)
    assert plain.getheader("ETag") != coded.getheader("ETag")


def test_head_sends_no_body(server):
    connection = http.client.HTTPConnection(server.host, server.port, timeout=10)
    for path in ("/gzip", "/chunked", "/plain"):
        connection.request("HEAD", path)
        answer = connection.getresponse()
        assert (answer.status, answer.read()) == (200, b"")
    connection.close()


@pytest.mark.parametrize(("path", "sent", "asked"), [("/gzip", "ETag", "If-None-Match"), ("/dated", "Last-Modified", "If-Modified-Since")])
def test_a_validator_given_back_gets_304_without_a_body(server, path, sent, asked):
    answer, _ = get(server, path, Accept_Encoding="gzip")
    again, payload = get(server, path, **{asked: answer.getheader(sent), "Accept-Encoding": "gzip"})
    assert (again.status, payload, again.getheader(sent)) == (304, b"", answer.getheader(sent))


def test_a_page_without_validators_is_never_304(server):
    answer, _ = get(server, "/bare", If_None_Match="*", If_Modified_Since="Fri, 01 Jan 2100 00:00:00 GMT")
    assert (answer.status, answer.getheader("ETag"), answer.getheader("Last-Modified")) == (200, None, None)


def test_if_none_match_wins_over_if_modified_since():
    page = Answer(body=b"x")
    assert is_unchanged(page, f'"other", W/{page.etag}', None)
    assert not is_unchanged(page, '"other"', "Fri, 01 Jan 2100 00:00:00 GMT")
    assert is_unchanged(page, None, page.last_modified)
    assert not is_unchanged(page, None, "Thu, 01 Jan 1970 00:00:00 GMT")
    assert not is_unchanged(page, None, "yesterday")
    assert page.modified == FIRST_EDITION


def test_the_night_changes_under_the_same_address(server):
    _, before = get(server, "/plain")
    server.set_night(1)
    _, after = get(server, "/plain")
    assert (before[:7], after[:7]) == (b"night 0", b"night 1")
    assert server.requests["/plain"] == 2


def test_busy_at_first(server):
    first, _ = get(server, "/busy")
    second, body = get(server, "/busy")
    assert (first.status, first.getheader("Retry-After")) == (503, "1")
    assert (second.status, body) == (200, b"at last")


def test_closing_ends_open_connections():
    with DemoServer("127.0.0.2", 0, content) as server:
        connection = http.client.HTTPConnection(server.host, server.port, timeout=10)
        connection.request("GET", "/plain")
        connection.getresponse().read()
    with pytest.raises((http.client.HTTPException, OSError)):
        connection.request("GET", "/plain")
        connection.getresponse()
    connection.close()
