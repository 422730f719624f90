import pytest
from hypothesis import given
from hypothesis import strategies as st

from trawl_core.fetch.head import parse_head


def head(*lines: str, first: str = "HTTP/1.1 200 OK"):
    parsed = parse_head("\r\n".join([first, *lines, "", ""]).encode("latin-1"))
    assert parsed is not None
    return parsed


@pytest.mark.parametrize(
    ("first", "version", "status", "reason"),
    [
        ("HTTP/1.1 200 OK", "HTTP/1.1", 200, "OK"),
        ("HTTP/1.0 404 Not  Found ", "HTTP/1.0", 404, "Not  Found"),
        ("HTTP/1.1 200", "HTTP/1.1", 200, ""),
        ("HTTP/1.1 200 ", "HTTP/1.1", 200, ""),
        ("HTTP/1.1 999 Request denied", "HTTP/1.1", 999, "Request denied"),
        ("HTTP/1.1  200  Tr\xe8s bien", "HTTP/1.1", 200, "Tr\xe8s bien"),
    ],
)
def test_status_lines(first: str, version: str, status: int, reason: str) -> None:
    parsed = head(first=first)
    assert (parsed.version, parsed.status, parsed.reason) == (version, status, reason)


@pytest.mark.parametrize(
    "first", ["", "ICY 200 OK", "HTTP/2.0 200 OK", "HTTP/1.1 20 OK", "HTTP/1.1 2000 OK", "HTTP/1.1 099 x", "HTTP/1.1", " HTTP/1.1 200"]
)
def test_no_status_line(first: str) -> None:
    assert parse_head(f"{first}\r\n\r\n".encode()) is None


def test_headers_in_order_as_sent() -> None:
    parsed = head("B: 1", "a:2", "no colon here", ": no name", "B:  3 ", "Folded: x", "\t y", "Raw: caf\xe9", "Empty:")
    assert parsed.headers == (("B", "1"), ("a", "2"), ("B", "3"), ("Folded", "x y"), ("Raw", "caf\xe9"), ("Empty", ""))


@pytest.mark.parametrize(
    ("lines", "chunked", "length", "keep_alive"),
    [
        (["Content-Length: 5"], False, 5, True),
        (["Content-Length: 5", "Content-Length: 5"], False, 5, True),
        (["Content-Length: 5, 5"], False, 5, True),
        (["Content-Length: 5", "Content-Length: 7"], False, 5, False),
        (["Content-Length: -5"], False, None, False),
        (["Content-Length: +5"], False, None, False),
        ([], False, None, False),
        (["Transfer-Encoding: chunked"], True, None, True),
        (["Transfer-Encoding: gzip, Chunked"], True, None, True),
        (["Transfer-Encoding: chunked", "Content-Length: 5"], True, None, False),
        (["Transfer-Encoding: gzip"], False, None, False),
        (["Content-Length: 5", "Connection: close"], False, 5, False),
        (["Content-Length: 5", "Connection: Keep-Alive, Close"], False, 5, False),
    ],
)
def test_framing(lines: list[str], chunked: bool, length: int | None, keep_alive: bool) -> None:
    parsed = head(*lines)
    assert (parsed.chunked, parsed.length, parsed.keep_alive) == (chunked, length, keep_alive)


@pytest.mark.parametrize("status", [204, 304, 101, 103])
def test_answers_without_a_body(status: int) -> None:
    parsed = head("Content-Length: 9", "Transfer-Encoding: chunked", first=f"HTTP/1.1 {status} X")
    assert (parsed.chunked, parsed.length) == (False, 0)
    assert parsed.interim == (status == 103)


def test_http_1_0_keeps_a_connection_only_when_it_says_so() -> None:
    assert not head("Content-Length: 1", first="HTTP/1.0 200 OK").keep_alive
    assert head("Content-Length: 1", "Connection: keep-alive", first="HTTP/1.0 200 OK").keep_alive


@given(st.binary(max_size=300))
def test_any_bytes_behind_a_status_line(tail: bytes) -> None:
    parsed = parse_head(b"HTTP/1.1 200 OK\r\n" + tail)
    assert parsed is not None
    assert all(name and "\n" not in name + value for name, value in parsed.headers)
