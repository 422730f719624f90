from __future__ import annotations

from pathlib import Path

import pytest

from trawl_core.errors import ConfigError, UnknownDomainError, UsageError
from trawl_core.sites import check_domain, load_sites, parse_sites, parse_size
from trawl_core.sites_edit import add_site

HEAD = 'user_agent: "TrawlBot/1.0 (+https://example.org/bot; crawl@example.org)"\n'


def _error(text: str) -> str:
    with pytest.raises(ConfigError) as caught:
        parse_sites(text, "sites.yaml")
    return str(caught.value)


def test_defaults_reach_each_site_and_its_own_keys_win() -> None:
    config = parse_sites(
        HEAD
        + """
defaults: &d
  delay_s: 2
  timeout: {connect_s: 3, read_s: 4}
  max_response_bytes: 5MiB
sites:
  - domain: a.example.org
    seeds: [https://a.example.org/]
    timeout: {read_s: 9}
  - domain: b.example.org
    seeds: [https://b.example.org/]
    delay_s: 7
"""
    )
    first, second = config.sites
    assert (first.delay_s, first.timeout.connect_s, first.timeout.read_s, first.max_response_bytes) == (2, 3, 9, 5 * 2**20)
    assert second.delay_s == 7
    assert config.product_token == "TrawlBot"
    assert config.processes == "auto"
    assert parse_sites(f"{HEAD}processes: 3\n").processes == 3


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (HEAD + "sites:\n  - domain: a.example.org\n    seeds: [https://a.example.org/]\n    dealy_s: 1\n", "sites.yaml:5: unknown key 'dealy_s', did you mean 'delay_s'?"),
        (HEAD + "sites:\n  - domain: a.example.org\n    seeds: [https://a.example.org/]\n    timeout: {reed_s: 1}\n", "sites.yaml:5: unknown key 'reed_s', did you mean 'read_s'?"),
        (HEAD + "defaults: {json_pointers: [items]}\n", "'items' is not a JSON pointer (RFC 6901)"),
        (HEAD + "defaults: {json_pointers: [/a~b]}\n", "'/a~b' is not a JSON pointer (RFC 6901)"),
        (HEAD + "defaults: {dealy_s: 1}\n", "sites.yaml:2: unknown key 'dealy_s', did you mean 'delay_s'?"),
        (HEAD + "sites:\n  - seeds: [https://a.example.org/]\n", "sites.yaml:3: the key 'domain' is missing"),
        (HEAD + "sites:\n  - domain: 'a|b'\n    seeds: [https://a.example.org/]\n", "sites.yaml:3: sites.0.domain: 'a|b' is not a host name"),
        (HEAD + "sites:\n  - domain: a.example.org\n    seeds: [ftp://a.example.org/]\n", "is not an absolute http(s) URL"),
        (HEAD + "sites:\n  - domain: a.example.org\n    seeds: [https://a.example.org/]\n    delay_s: 0\n", "delay_s: 0 is accepted only where"),
        (HEAD + "sites:\n  - domain: 192.0.2.1\n    seeds: [http://192.0.2.1/]\n    delay_s: 0\n    network: {allow_networks: [127.0.0.0/8]}\n", "192.0.2.1 does not"),
        (HEAD + "sites:\n  - &a {domain: a.example.org, seeds: [https://a.example.org/]}\n  - *a\n", "the domain a.example.org stands twice"),
        (HEAD + "sites:\n  - domain: a.example.org\n    seeds: [https://a.example.org/]\n    include: ['(']\n", "is not a regular expression"),
        ("sites: []\n", "the key 'user_agent' is missing"),
        ('user_agent: "TrawlBot/1.0"\n', "must name a contact"),
        ('user_agent: "1Bot (+https://example.org)"\n', "must begin with a product token"),
        ("", "expected a mapping"),
        ("- a\n", "expected a mapping"),
        (HEAD + "processes: 0\n", "sites.yaml:2: processes: 0 is neither auto nor a number of processes from 1 to 64."),
        (HEAD + "processes: many\n", "sites.yaml:2: processes: 'many' is neither auto nor a number of processes from 1 to 64."),
        ("first_crawl_date: 2026-01-01\nuser_agent: Bot\n", "sites.yaml:2: user_agent: it must name a contact"),
        (HEAD + "sites:\n  - {domain: a.test, seeds: [http://a.test/]}\n  - {domain: A.test., seeds: [http://a.test/]}\n", "sites.yaml:4: the domain a.test stands twice"),
        (HEAD + "sites: [\n", "sites.yaml:3: not valid YAML"),
    ],
)  # fmt: skip
def test_a_wrong_file_is_told_with_line_and_nearest_key(text: str, said: str) -> None:
    assert said in _error(text)


def test_all_problems_are_told_at_once() -> None:
    message = _error(HEAD + "sites:\n  - domain: a.example.org\n    seeds: []\n    dealy_s: 1\n")
    assert len(message.splitlines()) == 2
    message = _error(HEAD + "sites:\n  - domain: a.example.org\n    seeds: [a.example.org]\n")
    assert len(message.splitlines()) == 1  # not also that no seed is left


@pytest.mark.parametrize(("text", "size"), [("20MiB", 20 * 2**20), ("2GB", 2 * 10**9), ("100", 100), ("1.5 KiB", 1536), (7, 7)])
def test_sizes(text: object, size: int) -> None:
    assert parse_size(text) == size


@pytest.mark.parametrize(
    ("text", "domain"),
    [("Docs.Example.ORG.", "docs.example.org"), ("127.0.0.1", "127.0.0.1"), ("[::1]", "::1"), ("bücher.example", "xn--bcher-kva.example")],
)
def test_domains(text: str, domain: str) -> None:
    assert check_domain(text) == domain


@pytest.mark.parametrize("text", ["", "a b", "a/b", "a|b", "a,b", "https://a.example.org", "a:80", "-a.example", "@news"])
def test_what_is_no_domain(text: str) -> None:
    with pytest.raises(ValueError, match="is not a host name"):
        check_domain(text)


def test_an_unknown_domain_names_the_nearest() -> None:
    config = parse_sites(HEAD + "sites:\n  - {domain: docs.example.org, seeds: [https://docs.example.org/]}\n")
    with pytest.raises(UnknownDomainError, match=r"Did you mean docs\.example\.org\?"):
        config.select(["doc.example.org"])


def test_adding_a_site_keeps_comments(tmp_path: Path) -> None:
    path = tmp_path / "sites.yaml"
    path.write_text("# mine\n" + HEAD + "defaults:\n  delay_s: 2  # slow\nsites: []\n")
    assert add_site(path, "docs.example.org").delay_s == 2
    add_site(path, "https://b.example.org:8443/start")
    text = path.read_text()
    assert "# mine" in text
    assert "# slow" in text
    config = load_sites(path)
    assert [site.domain for site in config.sites] == ["docs.example.org", "b.example.org"]
    assert config.site("b.example.org").network.allow_ports == (8443,)


@pytest.mark.parametrize("url", ["ftp://a.example.org/", "http://", "", "http://a b/", "docs.example.org"])
def test_a_site_that_can_not_be_added_leaves_the_file_alone(tmp_path: Path, url: str) -> None:
    path = tmp_path / "sites.yaml"
    path.write_text(HEAD + "sites:\n  - {domain: docs.example.org, seeds: [https://docs.example.org/]}\n")
    before = path.read_text()
    with pytest.raises((UsageError, ConfigError)):
        add_site(path, url)
    assert path.read_text() == before


def test_a_missing_file_says_how_to_make_one(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="trawl sites add URL"):
        load_sites(tmp_path / "sites.yaml")
