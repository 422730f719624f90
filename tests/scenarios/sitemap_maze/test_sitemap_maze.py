"""Sitemap indexes that name themselves and go on for ever."""

from __future__ import annotations

import gzip

import polars as pl
import pytest


def _index(*targets: str) -> dict:
    entries = "".join(f"<sitemap><loc>{target}</loc></sitemap>" for target in targets)
    return {"body": f"<sitemapindex>{entries}</sitemapindex>".encode(), "headers": {"Content-Type": "application/xml"}}


def _urlset(*targets: str) -> dict:
    entries = "".join(f"<url><loc>{target}</loc></url>" for target in targets)
    return {"body": f"<urlset>{entries}</urlset>".encode(), "headers": {"Content-Type": "application/xml"}}


def test_an_endless_index_ends_and_is_told(serve, run_crawl) -> None:
    site = serve({"/": b"<p>home", "/named": b"<p>only the sitemap names it"})
    site.routes["/sitemap.xml"] = _index("/sitemap.xml", "/s/1.xml", "/pages.xml")
    site.routes["/pages.xml"] = _urlset("/named")

    def deeper(asked) -> dict:
        number = asked.path.removeprefix("/s/").removesuffix(".xml")
        return _index(f"/s/{int(number) + 1}.xml", "/sitemap.xml") if number.isdigit() else {"status": 404}

    site.fallback = deeper
    run = run_crawl(site)
    assert site.paths().count("/sitemap.xml") == 1
    assert [path for path in site.paths() if path.startswith("/s/")] == ["/s/1.xml", "/s/2.xml", "/s/3.xml"]
    captures = run.captures(site.host)
    assert captures.filter(pl.col("url") == f"{site.root}/named")["depth"].to_list() == [1]
    (row,) = run.table("frontier_log", site.host).filter(pl.col("reason") == "trap").to_dicts()
    assert (row["detail"], row["samples"]) == ("sitemap indexes more than 3 deep", [f"{site.root}/s/4.xml"])


def test_a_robots_that_names_itself_as_sitemap_ends(serve, run_crawl) -> None:
    site = serve({"/": b"<p>home", "/named": b"<p>named"})
    site.routes["/robots.txt"] = f"Sitemap: {site.root}/robots.txt\nSitemap: {site.root}/list.xml\nSitemap: {site.root}/list.xml\n".encode()
    site.routes["/list.xml"] = _urlset("/named", "/named", "/")
    run = run_crawl(site)
    assert sorted(site.paths()) == ["/", "/list.xml", "/named", "/robots.txt", "/robots.txt", "/sitemap.xml"]
    assert run.outcome(site.host).error is None


@pytest.mark.parametrize("in_file", [False, True])
@pytest.mark.parametrize("in_transport", [False, True])
@pytest.mark.parametrize("name", ["/map.xml", "/map.xml.gz", "/urls.txt"])
def test_gzip_counts_by_content_in_the_file_and_in_transport(serve, run_crawl, name, in_transport, in_file) -> None:
    site = serve({"/": b"<p>home", "/named": b"<p>only the sitemap names it"})
    body = f"{site.root}/named\n".encode() if name == "/urls.txt" else _urlset(f"{site.root}/named")["body"]
    for layer in (in_file, in_transport):
        body = gzip.compress(body) if layer else body
    headers = {"Content-Type": "application/octet-stream", **({"Content-Encoding": "gzip"} if in_transport else {})}
    site.routes[name] = {"body": body, "headers": headers}
    run_crawl({"domain": site.host, "seeds": [f"{site.root}/"], "sitemaps": [site.root + name]})
    assert "/named" in site.paths()
