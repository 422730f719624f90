"""Pages that scripts render: with `browser: when-needed` their text reaches the tables, and the browser stays on the crawl's leash."""

from __future__ import annotations

import os
import socket
import threading

import polars as pl
import pytest

from trawl_core.extract.stage import extract_pages
from trawl_core.fetch import browser
from trawl_core.lake import tables
from trawl_core.sites import parse_sites
from trawl_core.warc.show import show_body
from trawl_core.warc.verify import verify

SETTINGS = {"browser": "when-needed", "sitemaps": "none", "timeout": {"total_s": 20}}
SHELL = b'<!doctype html><title>App</title><div id="root"></div><script src="/app.js"></script>'


@pytest.fixture
def chromium() -> str:
    reason = browser.why_missing(browser.find_chromium())
    if reason is not None and "CI" not in os.environ:
        pytest.skip(f"no page can be rendered here: {reason}")
    assert reason is None, reason
    return browser.find_chromium() or ""


@pytest.fixture
def listener():
    """A port on loopback that no site may ask."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(0.05)
        yield server


def app(listener: socket.socket) -> bytes:
    port = listener.getsockname()[1]
    return f"""
    const tries = ['http://127.0.0.1:{port}/a', 'http://localhost:{port}/b', 'http://2130706433:{port}/c', 'http://[::ffff:127.0.0.1]:{port}/d'];
    for (const url of tries) {{ fetch(url, {{mode: 'no-cors'}}).catch(() => 0); }}
    new WebSocket('ws://127.0.0.1:{port}/e');
    const picture = new Image(); picture.src = 'http://127.0.0.1:{port}/f';
    fetch('/order', {{method: 'POST', body: 'one'}}).catch(() => 0);
    fetch('/text.json').then(answer => answer.json()).then(words => {{
        document.getElementById('root').innerHTML = '<main><h1>' + words.title + '</h1><p>' + words.text + '</p><a href="/more">More</a></main>';
    }});""".encode()


def extracted(run, site):
    (partition,) = run.outcomes
    config = parse_sites(
        f'{{"user_agent": "TrawlBot/1.0 (+https://example.org/bot)", "sites": [{{"domain": "{site.host}", "seeds": ["{site.root}/"]}}]}}'
    )
    extract_pages(run.lake, partition, config.sites[0], workers=1)
    return pl.from_arrow(tables.read(run.lake, "pages", partition))


def test_a_scripts_text_is_in_pages_and_nothing_forbidden_is_connected_to(chromium, serve, run_crawl, listener):
    site = serve({"/": SHELL, "/more": b"<!doctype html><title>More</title><p>Plain."})
    site.routes["/app.js"] = {"body": app(listener), "headers": {"Content-Type": "text/javascript"}}
    site.routes["/text.json"] = {
        "body": b'{"title": "Lighthouse", "text": "Its lamp turns twice a minute in every kind of weather."}',
        "headers": {"Content-Type": "application/json"},
    }
    run = run_crawl(site, settings=SETTINGS)
    with pytest.raises(TimeoutError):
        listener.accept()
    facts = run.outcome(site.host).result.facts
    assert (facts["rendered"], facts["not_rendered"]) == (1, {})
    assert facts["refused_in_browser"] >= 2
    assert "/order" not in site.paths()
    assert site.paths().count("/") == 1
    assert next(asked for asked in site.asked if asked.path == "/app.js").headers["User-Agent"].startswith("TrawlBot/1.0")
    captures = run.captures(site.host)
    assert sorted(captures["url"]) == [f"{site.root}/", f"{site.root}/more"]
    (home,) = captures.filter(pl.col("rendered_offset").is_not_null()).to_dicts()
    assert show_body(run.lake, home) == SHELL
    pages = extracted(run, site)
    (page,) = pages.filter(pl.col("url") == f"{site.root}/").to_dicts()
    assert "Its lamp turns twice a minute" in page["text"]
    assert not page["needs_browser"]
    assert verify(run.lake) == []


def test_a_page_that_never_ends_is_archived_as_it_came(chromium, serve, run_crawl):
    endless = b'<div id="root"></div><script>setTimeout(() => { for (;;) {} }, 20)</script>'
    site = serve({"/": endless})
    run = run_crawl(site, settings={**SETTINGS, "timeout": {"total_s": 3}})
    (home,) = run.captures(site.host).to_dicts()
    assert home["rendered_offset"] is None
    assert "longer than 3 s" in home["error"]
    assert show_body(run.lake, home) == endless


def test_without_a_browser_each_page_says_so(serve, run_crawl, monkeypatch):
    monkeypatch.setenv("TRAWL_CHROMIUM", "/nowhere/chromium")
    site = serve({"/": SHELL})
    run = run_crawl(site, settings=SETTINGS)
    (home,) = run.captures(site.host).to_dicts()
    assert (home["outcome"], home["rendered_offset"]) == ("ok", None)
    assert "it was not rendered: " in home["error"]
    (reason,) = run.outcome(site.host).result.facts["not_rendered"]
    assert "trawl[browser]" in reason or "TRAWL_CHROMIUM" in reason
    (row,) = run.table("frontier_log", site.host).to_dicts()
    assert (row["reason"], row["detail"], row["count"], row["samples"]) == ("browser", reason, 1, [f"{site.root}/"])


def test_off_is_the_default(serve, run_crawl):
    site = serve({"/": SHELL})
    run = run_crawl(site)
    (home,) = run.captures(site.host).to_dicts()
    assert (home["error"], home["rendered_offset"]) == (None, None)
    assert "/app.js" not in site.paths()
    assert "rendered" not in run.outcome(site.host).result.facts


def test_a_page_asks_other_hosts_within_the_budget_of_their_address(chromium, serve, run_crawl) -> None:
    site, far, under_way, most = serve(), serve(), [], []

    def slowly(asked):
        under_way.append(asked)
        most.append(len(under_way))
        threading.Event().wait(0.05)
        under_way.remove(asked)
        return {"body": b"{}", "headers": {"Access-Control-Allow-Origin": "*"}}

    far.fallback = slowly
    script = f"""Promise.all([1, 2, 3, 4, 5, 6].map(n => fetch('{far.root}/' + n))).then(answers => {{
        document.getElementById('root').innerHTML = '<main>' + answers.length + ' answers</main>'; }});"""
    site.routes = {"/": SHELL, "/app.js": script.encode()}
    network = {"allow_networks": ["127.0.0.0/8"], "allow_ports": [site.port, far.port]}
    run = run_crawl(site, settings=SETTINGS | {"network": network, "host_concurrency": 1})
    assert sorted(far.paths()) == [f"/{n}" for n in range(1, 7)]
    assert max(most) == 1
    (page,) = extracted(run, site).to_dicts()
    assert "6 answers" in page["text"]
