"""A small budget on a site with more pages than it covers: the pages about the site's keywords come first."""

from __future__ import annotations


def test_keyword_pages_are_fetched_before_the_rest(serve, run_crawl) -> None:
    site = serve()
    plain = [f"/news/{n}" for n in range(30)]
    site.routes["/"] = site.page(*plain, "/topics/ferry-times", "/lists/9")
    site.routes.update({path: site.page(f"{path}/more") for path in plain})
    site.routes["/topics/ferry-times"] = b'<title>Boats</title><a href="/x/1">how to take the Ferry</a><a href="/x/2">shop</a>'
    site.routes["/x/1"] = b'<title>All about the ferry</title><a href="/y/1">next</a>'
    site.routes["/y/1"] = b"<p>words"
    run = run_crawl(site, settings={"keywords": {"ferry": 1.0}, "budget": {"pages": 4}, "sitemaps": "none"})
    assert sorted(url.removeprefix(site.root) for url in run.captures(site.host)["url"]) == ["/", "/topics/ferry-times", "/x/1", "/y/1"]


def test_a_script_that_moves_on_is_told(serve, run_crawl) -> None:
    site = serve({"/there": b"<p>nobody asks"})
    site.routes["/"] = b"<script>window.location.href = '/there'</script>"
    run = run_crawl(site, settings={"sitemaps": "none"})
    assert "/there" not in site.paths()
    (row,) = run.table("frontier_log", site.host).to_dicts()
    assert (row["reason"], row["detail"], row["samples"]) == ("javascript_redirect", f"{site.root}/", [f"{site.root}/there"])
    assert run.captures(site.host)["error"].to_list() == [None]
