import pytest

from trawl_core.sites import Site
from trawl_core.urls.scope import Scope


def scope(**settings) -> Scope:
    return Scope(Site(domain="docs.example.org", seeds=["https://docs.example.org/"], **settings))


@pytest.mark.parametrize(
    ("url", "reason"),
    [
        ("https://docs.example.org/guide", None),
        ("http://docs.example.org/guide", None),
        ("https://example.org/", "host"),
        ("https://docs.example.org.evil.test/", "host"),
        ("https://xdocs.example.org/", "host"),
        ("https://docs.example.org:81/", "port 81"),
        ("docs.example.org", "not a URL"),
    ],
)
def test_host_and_port(url: str, reason: str | None) -> None:
    assert scope().check(url) == reason


def test_a_further_origin_is_in_scope_with_its_scheme_and_port_only() -> None:
    rules = scope(origins=["https://cdn.example.org/"])
    assert rules.check("https://cdn.example.org/a.pdf") is None
    assert rules.check("http://cdn.example.org/a.pdf") == "host"


def test_exclude_wins_and_include_is_needed_except_for_seeds() -> None:
    rules = scope(include=[r"^https://docs\.example\.org/guide/"], exclude=[r"/drafts/", r"\.zip$"])
    assert rules.check("https://docs.example.org/guide/a") is None
    assert rules.check("https://docs.example.org/") is None
    assert rules.check("https://docs.example.org/blog/") == "include"
    assert rules.check("https://docs.example.org/guide/drafts/a") == "exclude /drafts/"
    assert rules.check_origin("https://docs.example.org/robots.txt") is None


def test_an_address_as_domain() -> None:
    rules = Scope(
        Site(domain="::1", seeds=["http://[::1]:8000/"], network={"allow_networks": ["::1/128"], "allow_ports": [8000]}),
    )
    assert rules.check("http://[::1]:8000/a") is None
    assert rules.check("http://[::1]/a") == "port 80"
    assert rules.check("http://[::2]:8000/a") == "host"
