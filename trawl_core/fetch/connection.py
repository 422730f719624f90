"""The connection under requests: it opens only to checked addresses and hands every byte to the wire's recording.

An adapter belongs to one site and to one exchange at a time. Before each exchange its `Wire` gets a fresh `Recording`, which the
connection and the response obey.
"""

from __future__ import annotations

import socket
import ssl
from functools import partial
from typing import Any

import requests
from requests.adapters import HTTPAdapter
from urllib3.connection import HTTPConnection, HTTPSConnection
from urllib3.connectionpool import HTTPConnectionPool, HTTPSConnectionPool
from urllib3.exceptions import SSLError as Urllib3SslError
from urllib3.util.ssl_match_hostname import CertificateError

from trawl_core.errors import FetchError
from trawl_core.fetch.guard import checked_addresses
from trawl_core.fetch.resolver import ResolverWithin
from trawl_core.fetch.wire import Recording, Wire, WireResponse
from trawl_core.urls.normalize import host_and_port


class _WireConnection(HTTPConnection):
    """Mixed into both of urllib3's connection classes."""

    def __init__(self, wire: Wire, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self._wire = wire
        self._ip_address: str | None = None
        self.response_class = partial(WireResponse, wire)

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

    def request(self, method: str, url: str, *args: Any, **kwargs: Any) -> None:
        """The target as the crawl has it: urllib3 re-encodes and requests drops an empty query."""
        super().request(method, self._wire.now.target, *args, **kwargs)

    def send(self, data: Any) -> None:
        recording = self._wire.now
        if self.sock is None:
            self.connect()
        if recording.sent_at is None:
            recording.sent_at = recording.clock.monotonic()
            recording.started_at = recording.clock.now()
            recording.ip_address = self._ip_address
            if isinstance(self.sock, ssl.SSLSocket):
                recording.tls_version = self.sock.version()
                recording.tls_cipher = (self.sock.cipher() or (None,))[0]
        recording.request += data
        self.sock.settimeout(recording.remaining_s(recording.timeout.read_s, "sending to"))
        try:
            super().send(data)
        except TimeoutError:
            raise recording.late("sending to") from None


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


class WireAdapter(HTTPAdapter):
    """requests' transport over the connections above: no proxy, no redirect, no retry, no cookies."""

    def __init__(self, wire: Wire, tls: ssl.SSLContext) -> None:
        self.wire = wire
        self._tls = tls
        # One exchange uses it at a time, so one connection an origin is enough, and a retry can't meet a second stale one.
        super().__init__(pool_connections=8, pool_maxsize=1)

    def init_poolmanager(self, *args: Any, **kwargs: Any) -> None:
        super().init_poolmanager(*args, **kwargs)
        http_pool = type("WireHttpPool", (HTTPConnectionPool,), {"ConnectionCls": staticmethod(partial(WireHttpConnection, self.wire))})
        https_pool = type("WireHttpsPool", (HTTPSConnectionPool,), {"ConnectionCls": staticmethod(partial(WireHttpsConnection, self.wire))})
        self.poolmanager.pool_classes_by_scheme = {"http": http_pool, "https": https_pool}

    def get_connection_with_tls_context(self, request: requests.PreparedRequest, *args: Any, **kwargs: Any) -> HTTPConnectionPool:
        scheme = request.url.partition(":")[0]
        host, port = host_and_port(request.url)
        pool_kwargs = {"ssl_context": self._tls} if scheme == "https" else None
        return self.poolmanager.connection_from_host(host, port, scheme, pool_kwargs=pool_kwargs)

    def cert_verify(self, *args: Any, **kwargs: Any) -> None:
        """The context that the pool was given decides; requests would load its bundle again for every connection."""

    def request_url(self, *args: Any, **kwargs: Any) -> str:
        """A placeholder: the connection sends the recording's target."""
        return "/"

    def build_response(self, req: requests.PreparedRequest, resp: Any) -> requests.Response:
        response = requests.Response()
        response.status_code = resp.status
        response.raw = resp
        response.request = req
        return response
