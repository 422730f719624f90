"""bench.static_site serves a folder as a documentation host does."""

from __future__ import annotations

import re
from datetime import UTC, datetime

from bench.static_site import folder_site, pages_of

SOME_DAY = datetime(2025, 3, 1, tzinfo=UTC)


def make(folder):
    for name, text in {"index.html": "<a href=a/b.html>", "a/b.html": "b", "style.css": "p {}", "build/x.html": "source"}.items():
        file = folder / name
        file.parent.mkdir(exist_ok=True)
        file.write_text(text)
    return folder_site(folder, 0, "http://site.test", SOME_DAY, leave_out=("build",))


def test_files_are_answers_and_the_root_leads_to_the_index(tmp_path):
    site = make(tmp_path)
    assert set(site.answers) == {"/", "/index.html", "/a/b.html", "/style.css", "/robots.txt", "/sitemap.xml"}
    assert ("Location", "/index.html") in site.respond("/").headers
    assert site.respond("/style.css").content_type == "text/css"
    assert site.respond("/a/b.html").gzip and site.respond("/a/b.html").etag
    assert site.respond("/a/b.html").last_modified == "Sat, 01 Mar 2025 00:00:00 GMT"


def test_the_sitemap_names_the_pages(tmp_path):
    site = make(tmp_path)
    listed = re.findall(r"<loc>([^<]+)</loc>", site.respond("/sitemap.xml").body.decode())
    assert (
        {f"http://site.test{path}" for path in pages_of(site)}
        == set(listed)
        == {
            "http://site.test/index.html",
            "http://site.test/a/b.html",
        }
    )
    assert pages_of(site, re.compile("^/a/")) == {"/a/b.html"}
    assert b"Sitemap: http://site.test/sitemap.xml" in site.respond("/robots.txt").body
