"""Sitemap indexes that name themselves and go on for ever."""

from __future__ import annotations

import polars as pl


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
