import ipaddress
import socket

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trawl_core.errors import FetchError
from trawl_core.fetch.guard import SystemResolver, check_address, check_port, checked_addresses
from trawl_core.sites import NetworkAccess

PUBLIC_ONLY = NetworkAccess()


class Names:
    """A resolver that knows these answers only."""

    def __init__(self, **answers: list[str]) -> None:
        self.answers = answers

    def resolve(self, host: str, port: int) -> list[tuple[int, str]]:
        if host not in self.answers:
            raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")
        return [(int(socket.AF_INET6 if ":" in address else socket.AF_INET), address) for address in self.answers[host]]


@pytest.mark.parametrize("ip", ["1.1.1.1", "8.8.8.8", "93.184.216.34", "2606:4700:4700::1111", "2a00:1450:4001:81b::200e"])
def test_public_addresses(ip: str) -> None:
    check_address(ip, PUBLIC_ONLY)


PRIVATE_V4 = ["0.0.0.0", "0.1.2.3", "10.0.0.1", "100.64.0.1", "100.100.100.200", "127.0.0.1", "127.255.255.254", "169.254.169.254"]
SPECIAL_V4 = ["172.16.0.1", "172.31.255.255", "192.0.0.192", "192.0.2.1", "192.88.99.1", "192.168.1.1", "198.18.0.1", "198.19.255.255"]
UNUSABLE_V4 = ["198.51.100.1", "203.0.113.1", "224.0.0.1", "239.255.255.255", "240.0.0.1", "255.255.255.255", "168.63.129.16"]
PRIVATE_V6 = ["::", "::1", "fe80::1", "fe80::1%eth0", "fec0::1", "fc00::1", "fd00:ec2::254", "ff02::1", "100::1", "5f00::1"]
CARRYING_V4 = ["::ffff:127.0.0.1", "::ffff:8.8.8.8", "::127.0.0.1", "64:ff9b::7f00:1", "64:ff9b:1::1", "2002:7f00:1::", "2001::1"]
DOCUMENTATION_V6 = ["2001:db8::1", "3fff::1", "2001:10::1", "2606:4700:4700::1111%1"]


@pytest.mark.parametrize(
    "ip", PRIVATE_V4 + SPECIAL_V4 + UNUSABLE_V4 + PRIVATE_V6 + CARRYING_V4 + DOCUMENTATION_V6 + ["127.1", "example.org", ""]
)
def test_everything_else_is_refused(ip: str) -> None:
    with pytest.raises(FetchError, match="nothing was sent") as refusal:
        check_address(ip, PUBLIC_ONLY)
    assert refusal.value.outcome == "blocked_address"


def test_an_allowed_network_allows_itself_only() -> None:
    access = NetworkAccess(allow_networks=["127.0.0.0/8", "fd00::/8"])
    check_address("127.0.0.9", access)
    check_address("fd00::1", access)
    check_address("1.1.1.1", access)
    for other in ("10.0.0.1", "::1", "::ffff:127.0.0.1", "169.254.169.254", "fd00::1%2"):
        with pytest.raises(FetchError):
            check_address(other, access)


def test_ports() -> None:
    check_port(443, PUBLIC_ONLY)
    with pytest.raises(FetchError, match="allow_ports") as refusal:
        check_port(22, PUBLIC_ONLY)
    assert refusal.value.outcome == "blocked_address"


def test_one_bad_answer_refuses_the_name() -> None:
    names = Names(good=["1.1.1.1", "2606:4700:4700::1111"], mixed=["1.1.1.1", "127.0.0.1"], metadata=["169.254.169.254"])
    assert checked_addresses("good", 443, PUBLIC_ONLY, names) == [(socket.AF_INET, "1.1.1.1"), (socket.AF_INET6, "2606:4700:4700::1111")]
    for name in ("mixed", "metadata"):
        with pytest.raises(FetchError) as refusal:
            checked_addresses(name, 443, PUBLIC_ONLY, names)
        assert refusal.value.outcome == "blocked_address"


def test_names_without_an_answer() -> None:
    for names in (Names(), Names(void=[])):
        with pytest.raises(FetchError, match="void has no address") as failure:
            checked_addresses("void", 443, PUBLIC_ONLY, names)
        assert failure.value.outcome == "dns_error"


def test_a_literal_is_not_resolved_but_checked() -> None:
    assert checked_addresses("1.1.1.1", 80, PUBLIC_ONLY, Names()) == [(socket.AF_INET, "1.1.1.1")]
    with pytest.raises(FetchError):
        checked_addresses("::1", 80, PUBLIC_ONLY, Names())


def test_the_system_resolver_and_old_spellings_of_an_address() -> None:
    for spelling in ("127.0.0.1", "2130706433", "0x7f.1", "0177.0.0.1"):
        assert SystemResolver().resolve(spelling, 80) == [(socket.AF_INET, "127.0.0.1")]
        with pytest.raises(FetchError):
            checked_addresses(spelling, 80, PUBLIC_ONLY, SystemResolver())


@given(st.ip_addresses())
def test_what_passes_is_global_by_python_too(address: ipaddress.IPv4Address | ipaddress.IPv6Address) -> None:
    try:
        check_address(str(address), PUBLIC_ONLY)
    except FetchError:
        return
    assert address.is_global
    assert not (address.is_multicast or address.is_private or address.is_reserved or address.is_link_local)
