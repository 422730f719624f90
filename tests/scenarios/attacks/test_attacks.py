"""Every way into a private network that a page, a name or a server can try: no connection is made, and the row says why.

A listener stands on every address of this machine, and every connection that the process begins is noted, so that an
address which nobody holds here counts as well.
"""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import pytest

FAMILIES = {4: int(socket.AF_INET), 6: int(socket.AF_INET6)}


@dataclass
class Trap:
    """Accepts on all addresses at `port`; `accepted` has who came. `begun` has every address that this process connected to."""

    begun: list[tuple] = field(default_factory=list)
    accepted: list[tuple] = field(default_factory=list)

    def __post_init__(self) -> None:
        dual = socket.has_dualstack_ipv6()
        self._listener = socket.create_server(("", 0), family=socket.AF_INET6 if dual else socket.AF_INET, backlog=64, dualstack_ipv6=dual)
        self.port = self._listener.getsockname()[1]
        self._thread = threading.Thread(target=self._accept)
        self._thread.start()

    def _accept(self) -> None:
        while True:
            try:
                connection, sender = self._listener.accept()
            except OSError:
                return
            self.accepted.append(sender)
            connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 6\r\nConnection: close\r\n\r\nsecret")
            connection.close()

    def close(self) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self._thread.join()

    def strangers(self, *allowed: tuple[str, int]) -> list[tuple]:
        """Connections to another place than these, and whatever was accepted."""
        return [address for address in self.begun if address[:2] not in allowed] + self.accepted


@pytest.fixture
def trap(monkeypatch: pytest.MonkeyPatch) -> Iterator[Trap]:
    trap = Trap()

    class Noted(socket.socket):
        def connect(self, address) -> None:
            trap.begun.append(address)
            super().connect(address)

    monkeypatch.setattr(socket, "socket", Noted)
    yield trap
    trap.close()


class Names:
    """Answers by name, one after the other and the last one again and again; a name that is not known has none."""

    def __init__(self, answers: dict[str, list[list[str]]]) -> None:
        self.answers = {name: list(turns) for name, turns in answers.items()}

    def resolve(self, host: str, port: int) -> list[tuple[int, str]]:
        turns = self.answers.get(host)
        if turns is None:
            raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")
        answer = turns.pop(0) if len(turns) > 1 else turns[0]
        return [(FAMILIES[6 if ":" in address else 4], address) for address in answer]


@pytest.fixture
def attack(serve, run_crawl, trap, quick_clock) -> Callable[..., tuple[dict[str, str], dict[str, str]]]:
    """Crawls a site whose pages attack. The site may stand at its own address only; `origins` are in its scope.

    Returns ({path: outcome}, {path: error}) of all rows that are not the site's own.
    """

    def run(routes, origins: list[str], names: Names | None = None, sitemaps="none", **settings):
        site = serve()
        site.routes = routes(site) if callable(routes) else routes
        run = run_crawl(
            site,
            clock=quick_clock,
            resolver=names or Names({}),
            settings={
                "network": {"allow_networks": [f"{site.host}/32"], "allow_ports": [80, 443, site.port, trap.port]},
                "origins": origins,
                "sitemaps": sitemaps,
                "attempts": 1,
                **settings,
            },
        )
        assert site.asked, "the crawl must have run"
        assert trap.strangers((site.host, site.port)) == []
        rows = run.table("captures", site.host)
        theirs = [row for row in rows.iter_rows(named=True) if not row["url"].startswith(f"{site.root}/") and row["kind"] != "robots"]
        return (
            {row["url"].split("/", 3)[3]: row["outcome"] for row in theirs},
            {row["url"].split("/", 3)[3]: row["error"] for row in theirs},
        )

    return run


# The host as an attacker would write it in a link.
SPELLINGS = [
    "127.0.0.1", "127.0.0.2", "127.255.255.254", "2130706433", "0x7f000001", "0x7F.0x0.0x0.0x1", "0177.0.0.1", "017700000001",
    "0177.0x0.1", "127.1", "127.0.1", "127.0.0.1.", "%31%32%37.0.0.1", "①②⑦.0.0.1", "127。0。0。1", "0", "0.0.0.0", "0.0.0.1",
    "10.0.0.1", "172.16.0.1", "172.31.255.255", "192.168.0.1", "0xa000001", "3232235521", "169.254.0.1", "169.254.169.254",
    "2852039166", "0xa9fea9fe", "0251.0376.0251.0376", "169.254.170.2", "168.63.129.16", "100.100.100.200", "100.64.0.1",
    "100.127.255.255", "192.0.0.192", "192.0.2.1", "192.88.99.1", "198.18.0.1", "198.51.100.1", "203.0.113.1", "224.0.0.1",
    "239.255.255.255", "240.0.0.1", "255.255.255.255", "[::]", "[::1]", "[0:0:0:0:0:0:0:1]", "[::ffff:127.0.0.1]", "[::ffff:7f00:1]",
    "[::ffff:0:127.0.0.1]", "[::ffff:169.254.169.254]", "[::127.0.0.1]", "[::ffff:8.8.8.8]", "[64:ff9b::127.0.0.1]", "[64:ff9b:1::a00:1]",
    "[2002:7f00:1::]", "[2002:a9fe:a9fe::]", "[2001:0:7f00:1::]", "[fe80::1]", "[fec0::1]", "[fc00::1]", "[fd00:ec2::254]", "[ff02::1]",
    "[ff0e::1]", "[100::1]", "[2001:db8::1]", "[3fff::1]", "[5f00::1]",
]  # fmt: skip


def test_every_spelling_of_an_address_is_refused(attack, trap) -> None:
    links = [f"http://{host}:{trap.port}/s{number}" for number, host in enumerate(SPELLINGS)]
    outcomes, errors = attack(lambda site: {"/": site.page(*links)}, [link.rsplit("/", 1)[0] for link in links])
    assert {SPELLINGS[int(path[1:])]: outcome for path, outcome in outcomes.items()} == dict.fromkeys(SPELLINGS, "blocked_address")
    assert all("is not a public address; nothing was sent" in error for error in errors.values())


# No URL at all (WHATWG), or one without userinfo that a crawler may follow: nothing to ask, so no row either.
NO_URLS = [
    "http://[fe80::1%25eth0]:{port}/", "http://[fe80::1%eth0]:{port}/", "http://[::1]%25lo:{port}/", "http://127.0.0.256:{port}/",
    "http://0x17f000001:{port}/", "http://[::1].evil.test:{port}/", "http://site.test@127.0.0.1:{port}/",
    "http://user:password@127.0.0.1:{port}/", "http://site.test:80@127.0.0.1:{port}/", "http://@127.0.0.1:{port}/",
    "http://127.0.0.1:{port}@127.0.0.1:{port}/", "http://1.1.1.1 &@127.0.0.1:{port}# @3.3.3.3/", "file:///etc/hostname",
    "ftp://127.0.0.1:{port}/", "gopher://127.0.0.1:{port}/_GET", "dict://127.0.0.1:{port}/", "jar:http://127.0.0.1:{port}/!/",
]  # fmt: skip


def test_what_is_no_url_is_not_asked_for(attack, trap) -> None:
    links = [link.format(port=trap.port) for link in NO_URLS]
    outcomes, _ = attack(lambda site: {"/": site.page(*links)}, [f"http://127.0.0.1:{trap.port}"])
    assert set(outcomes.values()) <= {"blocked_address"}


# Both sides of these read another host: the parser's reading is the one that is asked.
TWO_READINGS = [
    "http://{host}\\@127.0.0.1:{port}/",
    "http://127.0.0.1:{port}\\@{host}/",
    "http:127.0.0.1:{port}/",
    "http:///127.0.0.1:{port}/",
]
TWO_READINGS += ["http://127.0.0.1\t:{port}/", "//127.0.0.1:{port}/", "\\\\127.0.0.1:{port}/", "http://127.0.0.1:{port}#@{host}/"]


def test_links_with_two_readings(attack, trap) -> None:
    def routes(site):
        return {
            "/": site.page(*[link.format(port=trap.port, host=f"{site.host}:{site.port}") + f"r{n}" for n, link in enumerate(TWO_READINGS)])
        }

    outcomes, _ = attack(routes, [f"http://127.0.0.1:{trap.port}"])
    assert set(outcomes.values()) == {"blocked_address"}


ANSWERS = {
    "loopback": ["127.0.0.1"], "any": ["0.0.0.0"], "private": ["10.0.0.1"], "metadata": ["169.254.169.254"], "cgnat": ["100.64.0.1"],
    "multicast": ["224.0.0.1"], "broadcast": ["255.255.255.255"], "six": ["::1"], "anysix": ["::"], "mapped": ["::ffff:127.0.0.1"],
    "compatible": ["::127.0.0.1"], "sixtofour": ["2002:7f00:1::"], "natsixfour": ["64:ff9b::7f00:1"], "local": ["fe80::1"],
    "zone": ["fe80::1%lo"], "loopzone": ["::1%1"], "publiczone": ["2606:4700:4700::1111%1"], "unique": ["fd00::1"],
    "mixed": ["1.1.1.1", "127.0.0.1"], "mixedfirst": ["127.0.0.1", "1.1.1.1"], "mixedsix": ["1.1.1.1", "::1"], "text": ["localhost"],
    "short": ["127.1"],
}  # fmt: skip


def test_names_that_lead_inside(attack, trap) -> None:
    links = [f"http://{name}.evil.test:{trap.port}/{name}" for name in ANSWERS]
    names = Names({f"{name}.evil.test": [answer] for name, answer in ANSWERS.items()})
    outcomes, errors = attack(lambda site: {"/": site.page(*links)}, [link.rsplit("/", 1)[0] for link in links], names)
    assert outcomes == dict.fromkeys(ANSWERS, "blocked_address")
    assert all(errors.values())


TARGETS = ["127.0.0.1", "[::1]", "[::ffff:127.0.0.1]", "169.254.169.254", "0.0.0.0", "inside.evil.test", "2130706433"]
INSIDE = Names({"inside.evil.test": [["127.0.0.1"]]})


@pytest.mark.parametrize("in_scope", [True, False])
def test_redirects_that_lead_inside(attack, trap, in_scope: bool) -> None:
    hops = {
        f"{status}-{n}": (status, f"http://{host}:{trap.port}") for status in (301, 302, 303, 307, 308) for n, host in enumerate(TARGETS)
    }

    def routes(site):
        answers = {f"/{key}": {"status": status, "headers": {"Location": f"{root}/{key}"}} for key, (status, root) in hops.items()}
        return {"/": site.page(*answers), **answers}

    outcomes, _ = attack(routes, [f"http://{host}:{trap.port}" for host in TARGETS] if in_scope else [], INSIDE)
    assert outcomes == dict.fromkeys(hops, "blocked_address" if in_scope else "out_of_scope")


def test_elements_and_meta_refreshes_that_lead_inside(attack, trap) -> None:
    root = f"http://127.0.0.1:{trap.port}"
    elements = {
        "a": f'<a href="{root}/a">a</a>',
        "area": f'<map><area href="{root}/area"></map>',
        "iframe": f'<iframe src="{root}/iframe"></iframe>',
        "frame": f'<frameset><frame src="{root}/frame"></frameset>',
        "canonical": f'<link rel="canonical" href="{root}/canonical">',
        "next": f'<link rel="next" href="{root}/next">',
        "alternate": f'<link rel="alternate" href="{root}/alternate">',
        "feed": f'<link rel="alternate" type="application/rss+xml" href="{root}/feed">',
        "refresh": f'<meta http-equiv="refresh" content="0; url={root}/refresh">',
        "base": f'<base href="{root}/"><a href="base">base</a>',
    }

    def routes(site):
        return {"/": site.page(*[f"/p/{name}" for name in elements]), **{f"/p/{name}": text.encode() for name, text in elements.items()}}

    outcomes, _ = attack(routes, [root])
    assert {"a", "area", "iframe", "next", "refresh", "base"} <= set(outcomes)
    assert set(outcomes.values()) == {"blocked_address"}


def test_lists_that_lead_inside(attack, trap) -> None:
    root = f"http://127.0.0.1:{trap.port}"
    urls = f"<urlset><url><loc>{root}/page</loc></url></urlset>".encode()
    index = f"<sitemapindex><sitemap><loc>{root}/child.xml</loc></sitemap></sitemapindex>".encode()
    feed = f"<rss version='2.0'><channel><title>t</title><item><title>i</title><link>{root}/item</link></item></channel></rss>".encode()
    xml, rss = {"Content-Type": "application/xml"}, {"Content-Type": "application/rss+xml"}

    def routes(site):
        robots = (
            f"Sitemap: {root}/named.xml\nSitemap: {site.root}/list.xml\nSitemap: {site.root}/index.xml\nSitemap: {site.root}/moved.xml\n"
        )
        return {
            "/robots.txt": {"body": robots.encode(), "headers": {"Content-Type": "text/plain"}},
            "/list.xml": {"body": urls, "headers": xml},
            "/index.xml": {"body": index, "headers": xml},
            "/moved.xml": {"status": 301, "headers": {"Location": f"{root}/moved.xml"}},
            "/": b'<p>x<link rel="alternate" type="application/rss+xml" href="/feed.rss">',
            "/feed.rss": {"body": feed, "headers": rss},
        }

    outcomes, _ = attack(routes, [root], sitemaps="auto")
    assert set(outcomes) == {"page", "child.xml", "named.xml", "moved.xml", "item"}
    assert set(outcomes.values()) == {"blocked_address"}


@pytest.mark.parametrize("host", TARGETS)
@pytest.mark.parametrize("status", [301, 308])
def test_robots_that_lead_inside(serve, run_crawl, trap, quick_clock, status: int, host: str) -> None:
    site = serve()
    site.routes = {
        "/": site.page("/a"),
        "/robots.txt": {"status": status, "headers": {"Location": f"http://{host}:{trap.port}/robots.txt"}},
    }
    network = {"allow_networks": [f"{site.host}/32"], "allow_ports": [site.port, trap.port]}
    run = run_crawl(site, clock=quick_clock, resolver=INSIDE, settings={"network": network, "attempts": 1})
    assert trap.strangers((site.host, site.port)) == []
    rows = run.table("captures", site.host)
    assert dict(zip(rows["kind"], rows["outcome"], strict=True))["page"] == "robots_unavailable"
    assert "blocked_address" in rows.filter(rows["kind"] == "robots")["outcome"].to_list()
    assert site.paths() == ["/robots.txt"]


def test_a_name_that_flips_between_two_calls(serve, run_crawl, trap, quick_clock) -> None:
    site = serve()
    good = {"headers": {"Connection": "close"}}
    site.routes = {
        "/robots.txt": {"status": 404, **good},
        "/": {"body": site.page("/a"), **good},
        "/a": {"body": b"<p>never asked for", **good},
    }
    names = Names({"flip.test": [[site.host], [site.host], [site.host], ["127.0.0.1"]]})
    entry = {"domain": "flip.test", "seeds": [f"http://flip.test:{site.port}/"], "sitemaps": "none", "attempts": 1}
    network = {"allow_networks": [f"{site.host}/32"], "allow_ports": [site.port]}
    run = run_crawl(entry, clock=quick_clock, resolver=names, settings={"network": network})
    assert trap.strangers((site.host, site.port)) == []
    rows = run.captures("flip.test")
    assert dict(zip([url.rsplit("/", 1)[1] for url in rows["url"]], rows["outcome"], strict=True)) == {"": "ok", "a": "blocked_address"}
    assert site.paths() == ["/robots.txt", "/"]


@pytest.mark.parametrize("place", ["127.0.0.1", "localhost", "[::1]"])
def test_proxies_in_the_environment(attack, trap, monkeypatch: pytest.MonkeyPatch, place: str) -> None:
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "FTP_PROXY"):
        monkeypatch.setenv(name, f"http://{place}:{trap.port}")
        monkeypatch.setenv(name.lower(), f"http://{place}:{trap.port}")
    monkeypatch.delenv("NO_PROXY", raising=False)
    monkeypatch.delenv("no_proxy", raising=False)
    target = f"http://inside.evil.test:{trap.port}"
    outcomes, _ = attack(lambda site: {"/": site.page("/a", f"{target}/x"), "/a": b"<p>a"}, [target], INSIDE)
    assert outcomes == {"x": "blocked_address"}


@pytest.mark.parametrize("port", [22, 25, 6379, 8080])
def test_ports_that_are_not_allowed(attack, port: int) -> None:
    links = [f"http://1.1.1.1:{port}/p", f"http://127.0.0.1:{port}/q"]
    outcomes, _ = attack(
        lambda site: {"/": site.page("/r"), "/r": {"status": 302, "headers": {"Location": links[0]}}},
        [link.rsplit("/", 1)[0] for link in links],
    )
    assert outcomes == {"p": "out_of_scope"}


def test_the_trap_works(trap) -> None:
    with socket.create_connection(("127.0.0.1", trap.port)) as connection:
        assert connection.recv(4)
    assert [address[:2] for address in trap.begun] == [("127.0.0.1", trap.port)]
    assert len(trap.accepted) == 1
    assert len(trap.strangers()) == 2
