"""Which addresses a crawl may connect to: global unicast ones, and the networks that sites.yaml allows for that site.

A name is resolved once, every answer is checked, and the connection goes to a checked answer, so that neither an
alternate spelling nor a redirect nor a rebinding name leads into a private network.
"""

from __future__ import annotations

import ipaddress
import socket
from functools import lru_cache
from typing import Protocol

from trawl_core.errors import FetchError
from trawl_core.sites import NetworkAccess

# Ranges of the IANA special-purpose registries, and of those that carry an IPv4 address inside (mapped, NAT64, 6to4,
# Teredo): written out, since what `ipaddress` calls global differs between Python's patch releases.
_REFUSED = tuple(
    ipaddress.ip_network(text)
    for text in (
        "0.0.0.0/8",
        "10.0.0.0/8",
        "100.64.0.0/10",
        "127.0.0.0/8",
        "169.254.0.0/16",
        "172.16.0.0/12",
        "192.0.0.0/24",
        "192.0.2.0/24",
        "192.88.99.0/24",
        "192.168.0.0/16",
        "198.18.0.0/15",
        "198.51.100.0/24",
        "203.0.113.0/24",
        "224.0.0.0/4",
        "240.0.0.0/4",
        "168.63.129.16/32",  # a cloud's metadata service on a public address
        "2001::/23",
        "2001:db8::/32",
        "2002::/16",
        "3fff::/20",
    )
)
_GLOBAL_UNICAST_V6 = ipaddress.ip_network("2000::/3")


class Resolver(Protocol):
    """Names to addresses; a test gives its own."""

    def resolve(self, host: str, port: int) -> list[tuple[int, str]]:
        """(address family, address) in the order to be tried; raises OSError or UnicodeError when the name has none."""
        ...


class SystemResolver:
    """The operating system's answers."""

    def resolve(self, host: str, port: int) -> list[tuple[int, str]]:
        answers = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        # A scoped address (`fe80::1%2`) keeps its zone, which check_address refuses.
        return list(dict.fromkeys((int(family), str(address[0])) for family, _, _, _, address in answers))


def check_address(ip: str, access: NetworkAccess) -> None:
    """Raises FetchError("blocked_address") unless `ip` is global unicast or lies in one of the site's allowed networks."""
    try:
        address = ipaddress.ip_address(ip)
    except ValueError:
        raise FetchError("blocked_address", f"{ip} is not an address; nothing was sent.") from None
    if getattr(address, "scope_id", None) is None:
        if any(address in network for network in _networks(access.allow_networks)):
            return
        if _is_public(address):
            return
    raise FetchError(
        "blocked_address",
        f"{ip} is not a public address; nothing was sent. If this site may stand there, add its network to network.allow_networks.",
    )


def check_port(port: int, access: NetworkAccess) -> None:
    """Raises FetchError("blocked_address") for a port that the site doesn't allow."""
    if port not in access.allow_ports:
        raise FetchError(
            "blocked_address", f"port {port} is not in this site's network.allow_ports {list(access.allow_ports)}; nothing was sent."
        )


def checked_addresses(host: str, port: int, access: NetworkAccess, resolver: Resolver) -> list[tuple[int, str]]:
    """(family, address) answers for `host` (an IPv6 literal without brackets), each of them allowed.

    Raises FetchError: `dns_error` without an answer, `blocked_address` when the port or a single answer is not allowed;
    a TimeoutError of the resolver as it is.
    """
    check_port(port, access)
    try:
        literal = ipaddress.ip_address(host)
    except ValueError:
        answers = _resolve(host, port, resolver)
    else:
        answers = [(int(socket.AF_INET if literal.version == 4 else socket.AF_INET6), host)]
    for _, address in answers:
        check_address(address, access)
    return answers


def _resolve(host: str, port: int, resolver: Resolver) -> list[tuple[int, str]]:
    try:
        answers = resolver.resolve(host, port)
    except TimeoutError:
        raise
    except (OSError, UnicodeError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise FetchError("dns_error", f"the name {host} has no address: {reason}.") from error
    if not answers:
        raise FetchError("dns_error", f"the name {host} has no address.")
    return answers


def _is_public(address: ipaddress.IPv4Address | ipaddress.IPv6Address) -> bool:
    if any(address in network for network in _REFUSED):
        return False
    return address.version == 4 or address in _GLOBAL_UNICAST_V6


@lru_cache(maxsize=1024)
def _networks(texts: tuple[str, ...]) -> tuple[ipaddress.IPv4Network | ipaddress.IPv6Network, ...]:
    return tuple(ipaddress.ip_network(text) for text in texts)
