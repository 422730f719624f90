"""Names to addresses by DNS, each answer kept no longer than its TTL, and the look-up that can't outlive its fetch.

What DNS is not asked for, or gives no address for, goes to the operating system's `getaddrinfo`: names of /etc/hosts,
names without a dot, `.local` and `.localhost`, old spellings of an IPv4 address, search domains, a machine without
/etc/resolv.conf. All answers of either kind are checked by the guard.
"""

from __future__ import annotations

import ipaddress
import socket
import threading
from collections import OrderedDict
from dataclasses import dataclass
from pathlib import Path
from queue import Empty, SimpleQueue

import dns.exception
import dns.rdatatype
import dns.resolver

from trawl_core.clock import Clock
from trawl_core.fetch.guard import Resolver, SystemResolver

LONGEST_S = 300.0
# Of a TTL of 0, and of answers of the operating system, which have none: two connections of one moment share a look-up.
SHORTEST_S = 1.0
MOST_NAMES = 10_000
_DNS_LIFETIME_S = 5.0
_SYSTEM_DOMAINS = ("localhost", "local")
_FAMILIES = ((dns.rdatatype.A, int(socket.AF_INET)), (dns.rdatatype.AAAA, int(socket.AF_INET6)))

Answers = list[tuple[int, str]]


@dataclass(frozen=True)
class ResolverWithin:
    """A Resolver that raises TimeoutError after `timeout_s` real seconds, however long the one behind it hangs.

    `getaddrinfo` can't be interrupted: a look-up that is late ends by itself in a thread of its own, heard by nobody.
    """

    resolver: Resolver
    timeout_s: float

    def resolve(self, host: str, port: int) -> Answers:
        outcome: SimpleQueue[Answers | BaseException] = SimpleQueue()

        def look_up() -> None:
            try:
                outcome.put(self.resolver.resolve(host, port))
            except BaseException as error:  # noqa: BLE001 - raised again where it is waited for
                outcome.put(error)

        threading.Thread(target=look_up, name="trawl-resolve", daemon=True).start()
        try:
            answer = outcome.get(timeout=self.timeout_s)
        except Empty:
            raise TimeoutError(f"looking up {host} took more than {self.timeout_s:g} seconds") from None
        if isinstance(answer, BaseException):
            raise answer
        return answer


class DnsResolver:
    """A Resolver for a run; safe to call from several threads.

    IPv4 answers come first: where IPv6 leads nowhere, a connection would otherwise wait for it. `dns` is None on a
    machine without name servers.
    """

    def __init__(
        self,
        clock: Clock,
        *,
        dns: dns.resolver.Resolver | None = None,
        system: Resolver | None = None,
        hosts: Path = Path("/etc/hosts"),
    ) -> None:
        self._clock = clock
        self._dns = dns
        self._system = system or SystemResolver()
        self._hosts = HostsFile(hosts)
        self._kept: OrderedDict[str, tuple[float, Answers]] = OrderedDict()
        self._lock = threading.Lock()

    @classmethod
    def of_machine(cls, clock: Clock) -> DnsResolver:
        """Asks the name servers of /etc/resolv.conf."""
        try:
            machine = dns.resolver.Resolver()
        except dns.resolver.NoResolverConfiguration:
            return cls(clock)
        return cls(clock, dns=machine if machine.nameservers else None)

    def resolve(self, host: str, port: int) -> Answers:
        name = host.rstrip(".").lower()
        if (literal := _literal(host)) is not None:
            return literal
        now = self._clock.monotonic()
        with self._lock:
            until, answers = self._kept.get(name, (now, []))
        if now < until:
            return list(answers)
        answers, ttl_s = self._ask(name, host, port)
        with self._lock:
            # Reckoned from before the question, so that it is never kept longer than its TTL.
            self._kept[name] = (now + min(max(ttl_s, SHORTEST_S), LONGEST_S), answers)
            self._kept.move_to_end(name)
            if len(self._kept) > MOST_NAMES:
                self._kept.popitem(last=False)
        return list(answers)

    def _ask(self, name: str, host: str, port: int) -> tuple[Answers, float]:
        """(answers, seconds they may be kept); raises what the operating system raises when nobody has one."""
        if self._dns is not None and _is_dns_name(name) and name not in self._hosts:
            answers, ttl_s = _ask_dns(self._dns, name)
            if answers:
                return answers, ttl_s
        return self._system.resolve(host, port), SHORTEST_S


class HostsFile:
    """The names of a hosts file, read again when it changed."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._read: tuple[int, frozenset[str]] = (-1, frozenset())

    def __contains__(self, name: str) -> bool:
        try:
            changed = self._path.stat().st_mtime_ns
            if changed != self._read[0]:
                lines = (line.partition("#")[0].split() for line in self._path.read_text("utf-8", "replace").splitlines())
                self._read = (changed, frozenset(word.rstrip(".").lower() for words in lines for word in words[1:]))
        except FileNotFoundError:
            return False
        return name in self._read[1]


def _ask_dns(resolver: dns.resolver.Resolver, name: str) -> tuple[Answers, float]:
    """Addresses of both families and the shortest TTL on the way to them; none when DNS has none or can't be asked."""
    answers: Answers = []
    ttl_s = LONGEST_S
    for kind, family in _FAMILIES:
        try:
            answer = resolver.resolve(f"{name}.", kind, raise_on_no_answer=False, lifetime=_DNS_LIFETIME_S, search=False)
        except (dns.exception.DNSException, OSError):
            # A name that does not exist has no other family either, and servers that are silent stay so.
            break
        if answer.rrset is not None:
            answers += [(family, record.address) for record in answer.rrset]
            ttl_s = min(ttl_s, answer.chaining_result.minimum_ttl)
    return answers, ttl_s


def _is_dns_name(name: str) -> bool:
    """One with a dot whose last label is no number (that would be an old spelling of an address) and not the machine's own."""
    head, dot, last = name.rpartition(".")
    return bool(head and dot) and not last[:1].isdigit() and last not in _SYSTEM_DOMAINS


def _literal(host: str) -> Answers | None:
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return None
    return [(int(socket.AF_INET if address.version == 4 else socket.AF_INET6), host)]
