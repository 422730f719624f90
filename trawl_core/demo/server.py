"""A real HTTP/1.1 server on loopback for one demo site: keep-alive, gzip, chunks, conditional requests, two nights."""

from __future__ import annotations

import contextlib
import socket
import sys
import threading
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any

from trawl_core.demo.content import Answer, SiteContent

ContentOf = Callable[[int, str], SiteContent]
"""(night, origin like `http://127.0.0.2:40001`) → what the site says that night."""

_CHUNK_BYTES = 1500


class DemoServer:
    """Serves `content(night, origin)` at host:port in threads of its own; port 0 takes a free one.

    with DemoServer("127.0.0.2", 0, content) as server:
        server.origin, server.port, server.requests["/guide/"]; server.set_night(1)

    `requests` counts GET and HEAD by path over the server's life. Nothing is logged.
    """

    def __init__(self, host: str, port: int, content: ContentOf) -> None:
        self._content_of = content
        self._counting = threading.Lock()
        self.requests: Counter[str] = Counter()
        self._http = _Listener((host, port), self)
        self.host, self.port = host, self._http.server_port
        self.content = content(0, self.origin)
        self._thread = threading.Thread(target=self._http.serve_forever, kwargs={"poll_interval": 0.05}, name=f"demo {host}", daemon=True)
        self._thread.start()

    @property
    def origin(self) -> str:
        return f"http://{self.host}:{self.port}"

    def set_night(self, night: int) -> None:
        """Serve that night's version from the next request on; counts of requests go on."""
        self.content = self._content_of(night, self.origin)

    def answer(self, path: str) -> Answer:
        with self._counting:
            self.requests[path] += 1
            times = self.requests[path]
        return self.content.respond(path, times)

    def close(self) -> None:
        """Stop listening, end open connections, wait for the threads."""
        self._http.shutdown()
        self._thread.join()
        self._http.close_connections()
        self._http.server_close()

    def __enter__(self) -> DemoServer:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()


class _Listener(ThreadingHTTPServer):
    daemon_threads = False  # joined by server_close once their sockets are shut
    request_queue_size = 128

    def __init__(self, address: tuple[str, int], demo: DemoServer) -> None:
        self.demo = demo
        self._open: set[socket.socket] = set()
        self._opening = threading.Lock()
        super().__init__(address, _Handler)

    def server_bind(self) -> None:
        """Without HTTPServer's look-up of the host's name, which may ask a resolver."""
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.socket.bind(self.server_address)
        self.server_address = self.socket.getsockname()
        self.server_name, self.server_port = self.server_address[:2]

    def process_request(self, request: Any, client_address: Any) -> None:
        with self._opening:
            self._open.add(request)
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        with self._opening:
            self._open.discard(request)
        super().shutdown_request(request)

    def close_connections(self) -> None:
        with self._opening:
            for connection in self._open:
                with contextlib.suppress(OSError):  # the client was faster
                    connection.shutdown(socket.SHUT_RDWR)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that went away in the middle of an answer is no news; anything else is shown as usual."""
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)


class _Handler(BaseHTTPRequestHandler):
    server: _Listener
    protocol_version = "HTTP/1.1"
    server_version = "DemoSite/1"
    sys_version = ""
    disable_nagle_algorithm = True
    wbufsize = -1  # head and body leave in one segment

    def do_GET(self) -> None:
        self._send(with_body=True)

    def do_HEAD(self) -> None:
        self._send(with_body=False)

    def log_message(self, format: str, *args: Any) -> None:
        pass

    def _send(self, with_body: bool) -> None:
        answer = self.server.demo.answer(self.path)
        if answer.gzip and "gzip" not in self.headers.get("Accept-Encoding", ""):
            answer = replace(answer, gzip=False)
        unchanged = is_unchanged(answer, self.headers.get("If-None-Match"), self.headers.get("If-Modified-Since"))
        status = 304 if unchanged else answer.status
        self.send_response(status)
        for name, value in (("ETag", answer.etag), ("Last-Modified", answer.last_modified)):
            if value:
                self.send_header(name, value)
        for name, value in answer.headers:
            self.send_header(name, value)
        if unchanged:
            self.end_headers()
            return
        chunked = answer.chunked and self.request_version == "HTTP/1.1"
        self.send_header("Content-Type", answer.content_type)
        if answer.gzip:
            self.send_header("Content-Encoding", "gzip")
            self.send_header("Vary", "Accept-Encoding")
        if chunked:
            self.send_header("Transfer-Encoding", "chunked")
        else:
            self.send_header("Content-Length", str(len(answer.encoded)))
        self.end_headers()
        if with_body:
            self.wfile.write(_in_chunks(answer.encoded) if chunked else answer.encoded)


def _in_chunks(payload: bytes) -> bytes:
    parts = [payload[start : start + _CHUNK_BYTES] for start in range(0, len(payload), _CHUNK_BYTES)]
    return b"".join(b"%x\r\n%b\r\n" % (len(part), part) for part in parts) + b"0\r\n\r\n"


def is_unchanged(answer: Answer, if_none_match: str | None, if_modified_since: str | None) -> bool:
    """Whether a conditional request is answered 304 (RFC 9110 13.2.2: If-None-Match wins over If-Modified-Since)."""
    if answer.status != 200 or not answer.has_validator:
        return False
    if if_none_match is not None:
        asked = {tag.strip().removeprefix("W/") for tag in if_none_match.split(",")}
        return answer.etag is not None and ("*" in asked or answer.etag in asked)
    if if_modified_since is None or answer.last_modified is None:
        return False
    since = _moment(if_modified_since)
    return since is not None and answer.modified <= since


def _moment(http_date: str) -> datetime | None:
    try:
        moment = parsedate_to_datetime(http_date)
    except ValueError:
        return None
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)  # "-0000" is read as naive
