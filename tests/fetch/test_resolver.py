"""Names to addresses, asked from a DNS server of the test's own on loopback."""

from __future__ import annotations

import socket
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

import dns.flags
import dns.message
import dns.rcode
import dns.rdatatype
import dns.resolver
import dns.rrset
import pytest

from trawl_core.clock import SystemClock
from trawl_core.errors import FetchError
from trawl_core.fetch.client import HttpClient
from trawl_core.fetch.guard import checked_addresses
from trawl_core.fetch.resolver import LONGEST_S, SHORTEST_S, DnsResolver, ResolverWithin
from trawl_core.sites import NetworkAccess, Site

V4, V6 = int(socket.AF_INET), int(socket.AF_INET6)
OK = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nConnection: close\r\n\r\nhello"


@dataclass
class Hands:
    """A clock whose hands the test turns."""

    at: float = 1000.0
    moved: bool = True

    def now(self) -> datetime:
        return datetime.fromtimestamp(self.at, UTC)

    def monotonic(self) -> float:
        return self.at

    def sleep(self, seconds: float) -> None:
        self.at += seconds


@dataclass
class NameServer:
    """`zone` has (name, type) → (ttl, values) and may change; a name without any answers NXDOMAIN; `asked` counts questions."""

    zone: dict[tuple[str, str], tuple[int, list[str]]] = field(default_factory=dict)
    failing: bool = False
    asked: Counter[str] = field(default_factory=Counter)

    def __post_init__(self) -> None:
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._socket.bind(("127.0.0.1", 0))
        self.port = self._socket.getsockname()[1]
        self._thread = threading.Thread(target=self._serve)
        self._thread.start()

    def resolver(self) -> dns.resolver.Resolver:
        resolver = dns.resolver.Resolver(configure=False)
        resolver.nameservers = ["127.0.0.1"]
        resolver.port = self.port
        return resolver

    def _serve(self) -> None:
        while True:
            data, sender = self._socket.recvfrom(4096)
            if data == b"stop":
                return
            self._socket.sendto(self._answer(dns.message.from_wire(data)).to_wire(), sender)

    def _answer(self, query: dns.message.Message) -> dns.message.Message:
        question = query.question[0]
        name, kind = question.name.to_text(omit_final_dot=True), dns.rdatatype.to_text(question.rdtype)
        self.asked[f"{name} {kind}"] += 1
        answer = dns.message.make_response(query)
        answer.flags |= dns.flags.RA
        if self.failing:
            answer.set_rcode(dns.rcode.REFUSED)
        elif not any(known == name for known, _ in self.zone):
            answer.set_rcode(dns.rcode.NXDOMAIN)
        while (name, "CNAME") in self.zone:
            ttl, (target,) = self.zone[name, "CNAME"]
            answer.answer.append(dns.rrset.from_text(f"{name}.", ttl, "IN", "CNAME", f"{target}."))
            name = target
        if (name, kind) in self.zone:
            ttl, values = self.zone[name, kind]
            answer.answer.append(dns.rrset.from_text(f"{name}.", ttl, "IN", kind, *values))
        return answer

    def close(self) -> None:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
            sender.sendto(b"stop", ("127.0.0.1", self.port))
        self._thread.join()
        self._socket.close()


class System:
    """The operating system's part: knows these names; `asked` counts."""

    def __init__(self, **names: str) -> None:
        self.names = {name.replace("_", "."): address for name, address in names.items()}
        self.asked: Counter[str] = Counter()

    def resolve(self, host: str, port: int) -> list[tuple[int, str]]:
        self.asked[host] += 1
        if host not in self.names:
            raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")
        return [(V4, self.names[host])]


@pytest.fixture
def server() -> Iterator[NameServer]:
    server = NameServer()
    yield server
    server.close()


@pytest.fixture
def hands() -> Hands:
    return Hands()


@pytest.fixture
def resolver(server: NameServer, hands: Hands, tmp_path: Path) -> Callable[..., DnsResolver]:
    def make(**names: str) -> DnsResolver:
        return DnsResolver(hands, dns=server.resolver(), system=System(**names), hosts=tmp_path / "hosts")

    return make


def test_both_families_the_old_one_first(server, resolver) -> None:
    server.zone = {("site.test", "A"): (60, ["192.0.2.1", "192.0.2.2"]), ("site.test", "AAAA"): (60, ["2001:db8::1"])}
    answers = resolver().resolve("Site.test.", 80)
    assert sorted(answers[:2]) == [(V4, "192.0.2.1"), (V4, "192.0.2.2")]
    assert answers[2:] == [(V6, "2001:db8::1")]


@pytest.mark.parametrize(("ttl", "kept_s"), [(60, 60), (3600, LONGEST_S), (0, SHORTEST_S)])
def test_an_answer_lives_as_long_as_its_ttl(server, resolver, hands, ttl: int, kept_s: float) -> None:
    server.zone = {("site.test", "A"): (ttl, ["192.0.2.1"])}
    names = resolver()
    assert names.resolve("site.test", 80) == [(V4, "192.0.2.1")]
    server.zone = {("site.test", "A"): (ttl, ["192.0.2.9"])}
    hands.at += kept_s - 0.01
    assert names.resolve("site.test", 443) == [(V4, "192.0.2.1")]
    hands.at += 0.02
    assert names.resolve("site.test", 80) == [(V4, "192.0.2.9")]
    assert server.asked["site.test A"] == 2


def test_the_shortest_ttl_of_an_alias_and_its_target_holds(server, resolver, hands) -> None:
    server.zone = {("www.site.test", "CNAME"): (5, ["site.test"]), ("site.test", "A"): (200, ["192.0.2.1"])}
    names = resolver()
    for at, asked in ((0, 1), (4, 1), (6, 2)):
        hands.at = 1000.0 + at
        assert names.resolve("www.site.test", 80) == [(V4, "192.0.2.1")]
        assert server.asked["www.site.test A"] == asked


def test_what_dns_does_not_know_is_asked_of_the_system(server, resolver) -> None:
    names = resolver(intranet_corp="10.0.0.7", printer="10.0.0.8")
    assert names.resolve("intranet.corp", 80) == [(V4, "10.0.0.7")]
    assert server.asked == {"intranet.corp A": 1}
    assert names.resolve("printer", 80) == [(V4, "10.0.0.8")]
    with pytest.raises(socket.gaierror):
        names.resolve("nowhere.test", 80)
    assert set(server.asked) == {"intranet.corp A", "nowhere.test A"}


@pytest.mark.parametrize("name", ["localhost", "a.localhost", "printer.local", "127.1", "0x7f.0.0.1", "2130706433"])
def test_names_that_dns_is_never_asked(server, resolver, name: str) -> None:
    names = resolver(**{name.replace(".", "_"): "127.0.0.1"})
    assert names.resolve(name, 80) == [(V4, "127.0.0.1")]
    assert not server.asked


def test_literals_are_asked_of_nobody(server, resolver) -> None:
    names = resolver()
    assert names.resolve("192.0.2.1", 80) == [(V4, "192.0.2.1")]
    assert names.resolve("2001:db8::1", 80) == [(V6, "2001:db8::1")]
    assert not server.asked


def test_the_hosts_file_comes_first_and_is_read_again(server, resolver, hands, tmp_path: Path) -> None:
    server.zone = {("site.test", "A"): (1, ["192.0.2.1"])}
    names = resolver(site_test="10.0.0.9")
    assert names.resolve("site.test", 80) == [(V4, "192.0.2.1")]
    (tmp_path / "hosts").write_text("# mine\n10.0.0.9  other.test SITE.test # theirs\n")
    hands.at += 2
    assert names.resolve("site.test", 80) == [(V4, "10.0.0.9")]


def test_a_failing_server_leaves_the_system(server, resolver) -> None:
    server.failing = True
    assert resolver(site_test="10.0.0.9").resolve("site.test", 80) == [(V4, "10.0.0.9")]


def test_a_machine_without_name_servers(hands) -> None:
    assert DnsResolver(hands, system=System(site_test="10.0.0.9")).resolve("site.test", 80) == [(V4, "10.0.0.9")]


def test_a_failure_is_not_kept(server, resolver) -> None:
    names = resolver()
    with pytest.raises(socket.gaierror):
        names.resolve("site.test", 80)
    server.zone = {("site.test", "A"): (60, ["192.0.2.1"])}
    assert names.resolve("site.test", 80) == [(V4, "192.0.2.1")]


@pytest.mark.parametrize("name", ["a" * 64 + ".test", "a..test", ".".join(["a" * 60] * 5)])
def test_names_that_can_not_be_asked(resolver, name: str) -> None:
    with pytest.raises(FetchError) as failure:
        checked_addresses(name, 80, NetworkAccess(), resolver())
    assert failure.value.outcome == "dns_error"


def test_threads_share_the_answers(server, resolver) -> None:
    server.zone = {(f"s{n}.test", "A"): (60, [f"192.0.2.{n}"]) for n in range(8)}
    names = resolver()
    for n in range(8):
        names.resolve(f"s{n}.test", 80)
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda n: names.resolve(f"s{n % 8}.test", 80), range(400)))
    assert answers == [[(V4, f"192.0.2.{n % 8}")] for n in range(400)]
    assert server.asked.total() == 16


def test_a_mixed_answer_refuses_the_name(server, resolver) -> None:
    server.zone = {("site.test", "A"): (60, ["1.1.1.1"]), ("site.test", "AAAA"): (60, ["2606:4700:4700::1111", "::1"])}
    with pytest.raises(FetchError) as refusal:
        checked_addresses("site.test", 80, NetworkAccess(), resolver())
    assert refusal.value.outcome == "blocked_address"


def test_a_name_whose_answer_flips_is_pinned_and_checked_again(server, resolver, hands, wire_server) -> None:
    web = wire_server({"/": OK})
    server.zone = {("site.test", "A"): (30, ["127.0.0.1"])}
    site = Site(domain="site.test", seeds=["http://site.test/"], network={"allow_networks": ["127.0.0.1/32"], "allow_ports": [web.port]})
    client = HttpClient(user_agent="TrawlBot/1.0 (+https://example.org/bot)", clock=SystemClock(), resolver=resolver())
    outcomes = []
    for at, address in ((0, "127.0.0.1"), (29, "127.0.0.2"), (31, "127.0.0.2"), (62, "127.0.0.1")):
        server.zone = {("site.test", "A"): (30, [address])}
        hands.at = 1000.0 + at
        exchange = client.fetch(web.url("/", "site.test"), site)
        outcomes.append((exchange.outcome, exchange.ip_address))
    client.close()
    assert outcomes == [("ok", "127.0.0.1"), ("ok", "127.0.0.1"), ("blocked_address", None), ("ok", "127.0.0.1")]
    assert web.connections == 3


class Hanging:
    """Answers when the test ends."""

    def __init__(self) -> None:
        self.over = threading.Event()

    def resolve(self, host: str, port: int) -> list[tuple[int, str]]:
        self.over.wait()
        return []


@pytest.fixture
def hanging() -> Iterator[Hanging]:
    hanging = Hanging()
    yield hanging
    hanging.over.set()


def test_a_look_up_that_hangs_ends_with_its_fetch(hanging) -> None:
    client = HttpClient(user_agent="TrawlBot/1.0 (+https://example.org/bot)", clock=SystemClock(), resolver=hanging)
    site = Site(domain="site.test", seeds=["http://site.test/"], timeout={"connect_s": 60, "read_s": 60, "total_s": 0.2})
    exchange = client.fetch("http://site.test/", site)
    client.close()
    assert (exchange.outcome, exchange.request_bytes) == ("timeout", b"")
    assert "looking up the name of http://site.test/" in exchange.error


def test_within_the_time_the_answer_or_its_error() -> None:
    assert ResolverWithin(System(site_test="10.0.0.9"), 30).resolve("site.test", 80) == [(V4, "10.0.0.9")]
    with pytest.raises(socket.gaierror):
        ResolverWithin(System(), 30).resolve("site.test", 80)
