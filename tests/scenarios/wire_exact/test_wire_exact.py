"""What a server sent is what the archive holds: the server's own log of sent bytes is the witness, over plain TCP and TLS."""

from __future__ import annotations

import base64
import gzip
import hashlib
import random
import socket
import ssl
import subprocess
import sys
import threading
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import brotli
import pytest

from trawl_core.fetch import client as fetch_client
from trawl_core.warc.format import unescape_line
from trawl_core.warc.http_message import parse_headers
from trawl_core.warc.members import read_members
from trawl_core.warc.reader import iter_records, payload_of_capture, read_payload
from trawl_core.warc.verify import verify

PAGE = b"<!doctype html><meta charset=utf-8><title>t</title>" + b"".join(b"<p>line %d of the page</p>\n" % n for n in range(200))
ZIPPED = gzip.compress(PAGE, mtime=0)
OK = b"HTTP/1.1 200 OK\r\nDate: Mon, 30 Nov 2026 00:00:00 GMT\r\nServer: wire\r\nContent-Type: text/html; charset=utf-8\r\n"
CHUNKED = b"Transfer-Encoding: chunked\r\n"
INTERIM = b"HTTP/1.1 103 Early Hints\r\nLink: </a.css>; rel=preload\r\n\r\n"
BINARY = random.Random(7).randbytes(5000)
RECORD = b"\r\n\r\nWARC/1.1\r\nWARC-Type: response\r\n\r\nHTTP/1.1 200 OK\r\n\r\n"
TLS = Path(__file__).parents[2] / "fetch" / "tls"
TLS_HOST = "site.test"


def sized(body: bytes, head: bytes = OK) -> bytes:
    return head + b"Content-Length: %d\r\n\r\n" % len(body) + body


def chunks(body: bytes, size: int = 700, extension: bytes = b"", trailers: bytes = b"") -> bytes:
    parts = [body[start : start + size] for start in range(0, len(body), size)]
    return b"".join(b"%x%s\r\n%s\r\n" % (len(part), extension, part) for part in parts) + b"0\r\n" + trailers + b"\r\n"


def status(line: bytes, *headers: bytes) -> bytes:
    return b"HTTP/1.1 " + line + b"\r\n" + b"".join(header + b"\r\n" for header in headers)


# By path: what goes over the wire, the entity in it (transfer coding removed, content coding kept), whether the connection closes.
WHOLE: dict[str, tuple[bytes, bytes, bool]] = {
    "/plain": (sized(PAGE), PAGE, False),
    "/chunked": (OK + CHUNKED + b"\r\n" + chunks(PAGE), PAGE, False),
    "/chunked-other-sizes": (OK + CHUNKED + b"\r\n" + chunks(PAGE, 333), PAGE, False),
    "/chunked-ext-trailer": (
        OK + CHUNKED + b"Trailer: X-T\r\n\r\n" + chunks(PAGE, extension=b";a=b", trailers=b"X-T: 1\r\n"),
        PAGE,
        False,
    ),
    "/gzip": (sized(ZIPPED, OK + b"Content-Encoding: gzip\r\n"), ZIPPED, False),
    "/gzip-chunked": (OK + b"Content-Encoding: gzip\r\n" + CHUNKED + b"\r\n" + chunks(ZIPPED, 100), ZIPPED, False),
    "/gzip-lie": (sized(PAGE + b"lie", OK + b"Content-Encoding: gzip\r\n"), PAGE + b"lie", False),
    "/set-cookie": (
        sized(
            PAGE + b"1",
            status(b"200 OK", b"set-COOKIE: a=1; Path=/", b"X-A:nospace", b"X-B:   wide   ", b"Set-Cookie: b=2, c=3", b"X-Empty:"),
        ),
        PAGE + b"1",
        False,
    ),
    "/latin1-hdr": (sized(PAGE + b"2", OK + b"X-Name: caf\xe9\r\n"), PAGE + b"2", False),
    "/http10-close": (b"HTTP/1.0 200 OK\r\nContent-Type: text/html\r\n\r\n" + PAGE + b"3", PAGE + b"3", True),
    "/no-reason": (sized(PAGE + b"4", status(b"200")), PAGE + b"4", False),
    "/odd-reason": (sized(PAGE + b"5", status(b"200 Tr\xe8s  Bien!")), PAGE + b"5", False),
    "/interim103": (INTERIM + sized(PAGE + b"6"), PAGE + b"6", False),
    "/interim-thrice": (b"HTTP/1.1 100 Continue\r\n\r\n" + 2 * INTERIM + sized(PAGE + b"7"), PAGE + b"7", False),
    "/moved": (sized(b"moved", status(b"301 Moved Permanently", b"Location: /found")), b"moved", False),
    "/found": (sized(b"", status(b"302 Found", b"Location: /plain")), b"", False),
    "/loop": (sized(b"", status(b"302 Found", b"Location: /loop")), b"", False),
    "/latin1-location": (sized(b"", status(b"302 Found", b"Location: /caf\xe9")), b"", False),
    "/204": (status(b"204 No Content", b"Server: wire") + b"\r\n", b"", False),
    "/404": (sized(b"nope", status(b"404 Not Found")), b"nope", False),
    "/503": (sized(b"busy", status(b"503 Service Unavailable", b"Retry-After: 1")), b"busy", False),
    "/empty": (sized(b""), b"", False),
    "/warc-in-body": (sized(RECORD), RECORD, False),
    "/two-blank-lines": (sized(b"\r\n\r\n" + PAGE), b"\r\n\r\n" + PAGE, False),
    "/binary": (sized(BINARY, status(b"200 OK", b"Content-Type: application/octet-stream")), BINARY, False),
    "/two-lengths": (sized(PAGE + b"8", OK + b"Content-Length: %d\r\n" % (len(PAGE) + 1)), PAGE + b"8", False),
    "/many-headers": (sized(PAGE + b"9", OK + b"".join(b"X-%d: v\r\n" % n for n in range(150))), PAGE + b"9", True),
    "/robots.txt": (sized(b"User-agent: *\nDisallow: /private\n", status(b"200 OK", b"Content-Type: text/plain")), b"", False),
}
# Never asked for (`warcio check` dies of it), and sent all the same.
BROTLI = brotli.compress(PAGE)
UNASKED = {"/brotli": (sized(BROTLI, OK + b"Content-Encoding: br\r\n"), BROTLI, False)}
CUT: dict[str, tuple[bytes, str]] = {
    "/short": (OK + b"Content-Length: %d\r\n\r\n" % (len(PAGE) + 500) + PAGE, "disconnect"),
    "/chunked-cut": (OK + CHUNKED + b"\r\n" + chunks(PAGE)[:3000], "disconnect"),
    "/gzip-cut": (sized(ZIPPED[:40], OK + b"Content-Encoding: gzip\r\n"), "unspecified"),
    "/big": (sized(b"0123456789" * 60_000), "length"),
}


class Wire:
    """Sends exactly the bytes of a recipe; `sent` is its log by path. A recipe may be a function of the request's head."""

    def __init__(
        self, recipes: dict[str, tuple[bytes | Callable[[bytes], bytes], bool]], host: str = "", tls: ssl.SSLContext | None = None
    ):
        self.recipes, self.sent, self.requests = recipes, defaultdict(list), defaultdict(list)
        self._tls = tls
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=64)
        self.port = self._listener.getsockname()[1]
        self.host = host or "127.0.0.1"
        self.root = f"{'https' if tls else 'http'}://{self.host}:{self.port}"
        self._threads = [threading.Thread(target=self._accept)]
        self._threads[0].start()

    def close(self) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        for thread in self._threads:
            thread.join()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                connection, _ = self._listener.accept()
                connection.settimeout(20)
                self._threads.append(threading.Thread(target=self._serve, args=(connection,)))
                self._threads[-1].start()

    def _serve(self, connection: socket.socket) -> None:
        with suppress(OSError):
            if self._tls:
                connection = self._tls.wrap_socket(connection, server_side=True)
            while request := self._request(connection):
                path = request.split(b" ")[1].decode("latin-1")
                answer, closes = self.recipes.get(path) or (sized(b"nothing", status(b"404 Not Found")), False)
                wire = answer(request) if callable(answer) else answer
                self.requests[path].append(request)
                self.sent[path].append(wire)
                connection.sendall(wire)
                if closes:
                    break
        connection.close()

    @staticmethod
    def _request(connection: socket.socket) -> bytes:
        request = b""
        while not request.endswith(b"\r\n\r\n"):
            block = connection.recv(65536)
            if not block:
                return b""
            request += block
        return request


@pytest.fixture
def wire(monkeypatch) -> Iterator[Callable[..., Wire]]:
    servers: list[Wire] = []

    def start(recipes: dict, tls: bool = False) -> Wire:
        context = None
        if tls:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(TLS / "site.test.pem")
            monkeypatch.setattr(fetch_client, "_public_authorities", lambda: ssl.create_default_context(cafile=TLS / "authority.pem"))
        servers.append(Wire(recipes, TLS_HOST if tls else "", context))
        return servers[-1]

    yield start
    for server in servers:
        server.close()


class Loopback:
    """Every name is this machine."""

    def resolve(self, host: str, port: int) -> list[tuple[int, str]]:
        return [(int(socket.AF_INET), "127.0.0.1")]


@pytest.fixture
def crawl_of(run_crawl) -> Callable[..., object]:
    """A crawl with eight connections whose seeds are `paths`."""

    def run(server: Wire, paths, **how):
        entry = {"domain": server.host, "seeds": [server.root + path for path in paths], "sitemaps": "none", "attempts": 1}
        entry |= {"concurrency": 8, "host_concurrency": 8, **how.pop("keys", {})}
        return run_crawl(entry, threads=8, resolver=Loopback(), **how)

    return run


def base32(data: bytes) -> str:
    return base64.b32encode(hashlib.sha1(data).digest()).decode()


def rows_of(run, server: Wire) -> dict[str, dict]:
    rows = run.table("captures", server.host).sort("fetch_time").iter_rows(named=True)
    return {row["url"].removeprefix(server.root): row for row in rows}


def records_of(run, row):
    """(the capture's record, its request, its metadata fields)"""
    main = read_payload(run.lake, row["warc_filename"], row["warc_record_offset"], row["warc_record_length"])
    request = read_payload(run.lake, row["warc_filename"], row["request_offset"], row["request_length"])
    metadata = read_payload(run.lake, row["warc_filename"], row["metadata_offset"], row["metadata_length"])
    return main, request, dict(parse_headers(b"\n" + metadata.block))


@pytest.mark.parametrize("tls", [False, True], ids=["plain", "tls"])
def test_blocks_are_the_wire_byte_for_byte(wire, crawl_of, tls) -> None:
    whole = WHOLE | UNASKED
    recipes = {path: (sent, closes) for path, (sent, _, closes) in whole.items()} | {path: (sent, True) for path, (sent, _) in CUT.items()}
    server = wire(recipes, tls=tls)
    run = crawl_of(server, [path for path in recipes if path != "/robots.txt"], keys={"max_response_bytes": 400_000})
    rows = rows_of(run, server)
    assert set(recipes) <= set(rows)
    for path, (_, entity, _) in whole.items():
        row = rows[path]
        main, request, facts = records_of(run, row)
        (sent,) = server.sent[path] if path != "/plain" else server.sent[path][:1]
        interim = sent[: sent.rindex(INTERIM) + len(INTERIM)] if INTERIM in sent else b""
        block = sent.removeprefix(interim)
        # A body that was met before is a revisit: its head alone.
        assert main.block == (block if row["warc_type"] == "response" else block[: block.index(b"\r\n\r\n") + 4]), path
        assert request.block == server.requests[path][0], path
        assert (row["content_truncated"], main.truncated) == (None, None), path
        assert unescape_line(facts.get("interim-heads", "")) == interim, path
        if path != "/robots.txt":
            assert row["content_digest"] == base32(entity), path
            assert payload_of_capture(run.lake, row).payload == entity, path
        if tls:
            assert main.field_values("WARC-Protocol")[-1].startswith("tls/1.")
            assert main.field("WARC-Cipher-Suite").startswith("TLS_")
    same = ("/plain", "/chunked", "/chunked-other-sizes", "/chunked-ext-trailer")
    assert {rows[path]["content_digest"] for path in same} == {base32(PAGE)}
    assert sorted(rows[path]["warc_type"] for path in same) == ["response", "revisit", "revisit", "revisit"]
    for path, (sent, reason) in CUT.items():
        main, _, _ = records_of(run, rows[path])
        assert sent.startswith(main.block), path
        assert (rows[path]["content_truncated"], main.truncated) == (reason, reason), path
        assert (len(main.block) < len(sent)) == (reason == "length"), path
    assert verify(run.lake) == []


FRAMINGS: dict[str, Callable[[bytes], bytes]] = {
    "length": sized,
    "chunks": lambda body: OK + CHUNKED + b"\r\n" + chunks(body, 1000),
    "one-chunk": lambda body: OK + CHUNKED + b"\r\n" + chunks(body, 1 << 20),
    "until-close": lambda body: b"HTTP/1.0 200 OK\r\n\r\n" + body,
}


def test_truncation_is_flagged_one_byte_above_the_cap_and_never_at_it(wire, crawl_of) -> None:
    cap = 20_000
    bodies = {f"/{name}/{size}": random.Random(name).randbytes(size) for name in FRAMINGS for size in (cap - 1, cap, cap + 1)}
    server = wire({path: (FRAMINGS[path.split("/")[1]](body), True) for path, body in bodies.items()})
    rows = rows_of(run := crawl_of(server, bodies, keys={"max_response_bytes": cap}), server)
    for path, body in bodies.items():
        main, _, _ = records_of(run, rows[path])
        is_over = len(body) > cap
        assert (rows[path]["content_truncated"], rows[path]["outcome"]) == (("length", "truncated") if is_over else (None, "ok")), path
        assert main.payload == body[:cap], path
        assert is_over or main.block == server.sent[path][0], path
    assert verify(run.lake) == []


def numbered(number: int) -> tuple[bytes, bytes]:
    """(wire, entity); odd ones are chunked."""
    body = (b"%d|" % number) * (50 + number % 200)
    head = OK + b"X-Id: %d\r\n" % number
    return (head + CHUNKED + b"\r\n" + chunks(body, 97) if number % 2 else sized(body, head)), body


@pytest.mark.parametrize("tls", [False, True], ids=["plain", "tls"])
def test_eight_threads_never_mix_bodies(wire, crawl_of, tls) -> None:
    answers = {f"/id/{number}": numbered(number) for number in range(1600 if not tls else 400)}
    server = wire({path: (sent, False) for path, (sent, _) in answers.items()}, tls=tls)
    run = crawl_of(server, answers)
    rows = rows_of(run, server)
    digests = {path: row["content_digest"] for path, row in rows.items() if path in answers}
    assert digests == {path: base32(body) for path, (_, body) in answers.items()}
    found = {}
    for name in {row["warc_filename"] for row in rows.values()}:
        found |= {record.target_uri.removeprefix(server.root): record for record in iter_records(run.lake, name) if record.status}
    assert {path: found[path].block for path in answers} == {path: sent for path, (sent, _) in answers.items()}
    assert {path for path in answers if found[path].warc_type != "response"} == set()
    assert verify(run.lake) == []


def tagged(body: bytes, tag: bytes, refuse: bytes = b"") -> Callable[[bytes], bytes]:
    """Answers 304 to its own tag, or `refuse` where that is given."""

    def answer(request: bytes) -> bytes:
        if b"If-None-Match: " + tag in request:
            return refuse or status(b"304 Not Modified", b"ETag: " + tag, b"X-Late: caf\xe9") + b"\r\n"
        return sized(body, OK + b"ETag: " + tag + b"\r\n")

    return answer


@pytest.fixture
def two_nights(wire, crawl_of, remember):
    """(server, first night, second night) of a site with every kind of revisit, and answers that must not become one."""
    copies = {"/plain": (sized(PAGE), False), "/other": (OK + CHUNKED + b"\r\n" + chunks(PAGE), False)}
    forbidden = sized(b"<p>gone away</p>", status(b"403 Forbidden", b'ETag: "f"'))
    recipes = {
        **copies,
        "/tagged": (tagged(b"<p>tagged</p>", b'"t"'), False),
        "/forbidden": (tagged(b"<p>once open</p>", b'"f"', forbidden), False),
        "/again": (tagged(b"<p>whole again</p>", b'"a"', sized(b"<p>whole again</p>", OK + b'ETag: "a"\r\n')), False),
        "/changed": (tagged(b"<p>old</p>", b'"c"', sized(b"<p>new</p>")), False),
    }
    server = wire(recipes)
    first = crawl_of(server, recipes)

    class Site:
        host, root = server.host, server.root

    archived = {path for path, row in rows_of(first, server).items() if row["warc_type"] == "response"}
    remember(Site, night=1, due=[path for path in recipes if path in archived])
    return server, first, crawl_of(server, recipes, night=1)


def test_revisits_name_the_record_that_holds_the_body(two_nights) -> None:
    server, first, second = two_nights
    before, now = rows_of(first, server), rows_of(second, server)
    copied = next(path for path in ("/plain", "/other") if before[path]["warc_type"] == "revisit")
    original = next(path for path in ("/plain", "/other") if path != copied)
    assert {path: now[path]["revisit_profile"] for path in now if path != "/robots.txt"} == {
        "/plain": "identical-payload-digest",
        "/other": "identical-payload-digest",
        "/tagged": "server-not-modified",
        "/forbidden": None,
        "/again": "identical-payload-digest",
        "/changed": None,
    }
    # The same payload from another URL, and from the same one a night later.
    led = [
        (before[copied], before[original]),
        (now[original], before[original]),
        (now[copied], before[original]),
        (now["/tagged"], before["/tagged"]),
    ]
    for row, origin in [*led, (now["/again"], before["/again"])]:
        main, _, facts = records_of(second, row)
        holder, _, _ = records_of(second, origin)
        assert main.warc_type == "revisit"
        assert main.field("WARC-Profile") == f"http://netpreserve.org/warc/1.1/revisit/{row['revisit_profile']}"
        refers = [main.field(f"WARC-Refers-To{part}") for part in ("", "-Target-URI", "-Date")]
        assert refers == [holder.field("WARC-Record-ID"), holder.target_uri, holder.field("WARC-Date")]
        assert payload_of_capture(second.lake, row).block == holder.block
        assert row["content_digest"] == origin["content_digest"]
        path = row["url"].removeprefix(server.root)
        sent = server.sent[path][-1 if row is now[path] else 0]
        if row["revisit_profile"] == "server-not-modified":
            assert (main.block, main.field("WARC-Payload-Digest")) == (b"", None)
            assert unescape_line(facts["not-modified-head"]) == sent
        else:
            assert main.block == sent[: sent.index(b"\r\n\r\n") + 4]
            assert main.field("WARC-Payload-Digest") == holder.field("WARC-Payload-Digest")
        assert main.field("Content-Type") == "application/http;msgtype=response"
    assert before[copied]["url"] != before[original]["url"]


def test_only_a_304_is_a_not_modified_revisit(two_nights) -> None:
    server, _, second = two_nights
    now = rows_of(second, server)
    assert {row["fetch_status"] for row in now.values() if row["revisit_profile"] == "server-not-modified"} == {304}
    # Each was asked with its validator; what answered otherwise is archived whole.
    for path, code in (("/forbidden", 403), ("/changed", 200)):
        assert b"If-None-Match" in server.requests[path][-1]
        main, _, _ = records_of(second, now[path])
        assert (main.warc_type, main.status, main.block) == ("response", code, server.sent[path][-1])
    assert b"If-None-Match" in server.requests["/again"][-1]
    assert now["/again"]["fetch_status"] == 200


def test_public_tools_find_the_files_sound(wire, crawl_of, two_nights, tmp_path) -> None:
    """gzip, and warcio but for the payload digests of chunked records, which it computes over the framing."""
    whole = {path: (sent, closes) for path, (sent, _, closes) in WHOLE.items()}
    server = wire(whole)
    run = crawl_of(server, [path for path in whole if path != "/robots.txt"])
    names = [name for partition in run.lake.partitions("warc") for name in run.lake.files(run.lake.warc_folder(partition))]
    assert len(names) >= 2
    for name in names:
        path = run.lake.local_path(name)
        assert (
            subprocess.run(["gzip", "-t", path], capture_output=True, text=True, check=False).stderr
            in (
                "",
                f"gzip: {path}: decompression OK, trailing garbage ignored\n",
            )[:1]
        )
        with path.open("rb") as file:
            members = list(read_members(file))
        assert len(members) == len(list(iter_records(run.lake, name)))
        assert all(member.data.startswith(b"WARC/1.1\r\n") for member in members)
        checked = subprocess.run([sys.executable, "-m", "warcio.cli", "check", "-v", path], capture_output=True, text=True, check=False)
        complaints = _complaints(checked.stdout)
        chunked = {
            record.field("WARC-Record-ID")
            for record in iter_records(run.lake, name)
            if record.warc_type == "response" and record.header("Transfer-Encoding") == "chunked"
        }
        assert set(complaints) == chunked, checked.stdout
        assert all(line.startswith("payload digest failed") for lines in complaints.values() for line in lines)
        assert checked.returncode == (1 if chunked else 0)


def _complaints(told: str) -> dict[str, list[str]]:
    """By record id, what `warcio check -v` says against it."""
    found: dict[str, list[str]] = {}
    current = ""
    for line in told.splitlines():
        words = line.split()
        if "WARC-Record-ID" in words:
            current = words[words.index("WARC-Record-ID") + 1]
        elif "digest failed" in line or "error" in line.lower():
            found.setdefault(current, []).append(line.strip())
    return found
