"""The connection under requests: it opens only to checked addresses and hands every byte to the wire's recording.

An adapter belongs to one site and to one exchange at a time. Before each exchange its `Wire` gets a fresh `Recording`, which the
connection and the response obey.
"""

from __future__ import annotations

import socket
import ssl
from collections import OrderedDict
from collections.abc import Mapping
from typing import Any

import requests
from requests.adapters import BaseAdapter
from urllib3.connection import HTTPConnection, HTTPSConnection
from urllib3.exceptions import SSLError as Urllib3SslError
from urllib3.util.ssl_match_hostname import CertificateError

from trawl_core.errors import FetchError
from trawl_core.fetch.guard import checked_addresses
from trawl_core.fetch.resolver import ResolverWithin
from trawl_core.fetch.wire import Recording, Wire, WireResponse
from trawl_core.urls.normalize import host_and_port

MOST_ORIGINS = 8
"""Kept connections of one adapter."""


class _WireConnection(HTTPConnection):
    """Mixed into both of urllib3's connection classes."""

    def __init__(self, wire: Wire, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self._wire = wire
        self._ip_address: str | None = None
        name = f"[{self.host}]" if ":" in self.host else self.host
        self.host_field = name if self.port == self.default_port else f"{name}:{self.port}"

    def _new_conn(self) -> socket.socket:
        """Connect to the first checked address that answers; raises FetchError."""
        recording = self._wire.now
        recording.connected = True
        addresses = self._addresses(recording)
        failure: OSError | None = None
        for family, address in addresses:
            sock = socket.socket(family, socket.SOCK_STREAM)
            try:
                for option in self.socket_options or ():
                    sock.setsockopt(*option)
                sock.settimeout(recording.remaining_s(recording.timeout.connect_s, "connecting to"))
                sock.connect((address, self.port))
            except OSError as error:
                failure = error
                sock.close()
            except BaseException:
                sock.close()
                raise
            else:
                self._ip_address = address
                return sock
        if isinstance(failure, TimeoutError):
            raise recording.late("connecting to") from failure
        where = ", ".join(address for _, address in addresses)
        raise FetchError(
            "connect_error", f"connecting to {self.host} port {self.port} ({where}) failed: {(failure and failure.strerror) or failure}."
        ) from failure

    def _addresses(self, recording: Recording) -> list[tuple[int, str]]:
        """What the name stands for now, all of it checked."""
        doing = "looking up the name of"
        names = ResolverWithin(self._wire.resolver, recording.remaining_s(recording.timeout.connect_s, doing))
        try:
            return checked_addresses(self._dns_host.strip("[]"), self.port, self._wire.access, names)
        except TimeoutError:
            raise recording.late(doing) from None

    def ask(self, head: bytes) -> WireResponse:
        """Send a request and read the head of its answer; the connection is closed when either fails."""
        if self.sock is not None and not self.is_connected:
            self.close()
        try:
            self.send(head)
            response = WireResponse(self._wire, self.sock)
            response.begin()
        except BaseException:
            self.close()
            raise
        return response

    def send(self, data: bytes) -> None:
        recording = self._wire.now
        if self.sock is None:
            self.connect()
        recording.sent_at = recording.clock.monotonic()
        recording.started_at = recording.clock.now()
        recording.ip_address = self._ip_address
        if isinstance(self.sock, ssl.SSLSocket):
            recording.tls_version = self.sock.version()
            recording.tls_cipher = (self.sock.cipher() or (None,))[0]
        recording.request += data
        self.sock.settimeout(recording.remaining_s(recording.timeout.read_s, "sending to"))
        try:
            self.sock.sendall(data)
        except TimeoutError:
            raise recording.late("sending to") from None
        except (BrokenPipeError, ConnectionResetError):
            # The server may have answered before it closed the connection; reading will tell.
            pass


class WireHttpConnection(_WireConnection):
    pass


class WireHttpsConnection(_WireConnection, HTTPSConnection):
    def connect(self) -> None:
        recording = self._wire.now
        try:
            super().connect()
        except (ssl.SSLError, CertificateError, Urllib3SslError) as error:
            raise FetchError("tls_error", f"the TLS handshake with {self.host} failed: {error}.") from error
        except TimeoutError:
            raise recording.late("the TLS handshake with") from None
        except OSError as error:
            raise FetchError("tls_error", f"the TLS handshake with {self.host} failed: {error.strerror or error}.") from error

    def _new_conn(self) -> socket.socket:
        sock = super()._new_conn()
        try:
            recording = self._wire.now
            sock.settimeout(recording.remaining_s(recording.timeout.connect_s, "the TLS handshake with"))
        except FetchError:
            sock.close()
            raise
        return sock


class WireAdapter(BaseAdapter):
    """requests' transport over the connections above: no proxy, no redirect, no retry, no cookies.

    requests' own adapter asks urllib3's pools, which cost as much CPU as all the rest of an exchange.
    """

    def __init__(self, wire: Wire, tls: ssl.SSLContext) -> None:
        super().__init__()
        self.wire = wire
        self._tls = tls
        # One exchange uses it at a time, so one connection an origin is enough, and a retry can't meet a second stale one.
        self._connections: OrderedDict[str, _WireConnection] = OrderedDict()

    def send(self, request: requests.PreparedRequest, *args: Any, **kwargs: Any) -> WireResponse:
        """The answer with its head read: requests' own Response around it would only hide it.

        The connection sends the recording's target, not the request's URL.
        """
        connection = self._connection(request.url)
        return connection.ask(_head(self.wire.now.target, connection.host_field, request.headers))

    def drop(self, url: str) -> None:
        """Close the connection to the origin of `url`."""
        self._connections.pop(url[: url.index("/", 8)]).close()

    def close(self) -> None:
        while self._connections:
            self._connections.popitem()[1].close()

    def _connection(self, url: str) -> _WireConnection:
        key = url[: url.index("/", 8)]
        connection = self._connections.get(key)
        if connection is None:
            host, port = host_and_port(url)
            if url.startswith("https:"):
                connection = WireHttpsConnection(self.wire, host=host, port=port, ssl_context=self._tls)
            else:
                connection = WireHttpConnection(self.wire, host=host, port=port)
            self._connections[key] = connection
            if len(self._connections) > MOST_ORIGINS:
                self._connections.popitem(last=False)[1].close()
        else:
            self._connections.move_to_end(key)
        return connection


def _head(target: str, host_field: str, headers: Mapping[str, str]) -> bytes:
    if not target.isascii() or not target.isprintable() or " " in target:
        raise FetchError("invalid_http", f"the target {target!r} can't be sent: a URL has to be normalised first.")
    lines = [f"GET {target} HTTP/1.1", f"Host: {host_field}", *(f"{name}: {value}" for name, value in headers.items()), "", ""]
    return "\r\n".join(lines).encode("latin-1")
