"""bench.generated_site makes the site that bench.fetch crawls: the same everywhere, and without a page that no link reaches."""

from __future__ import annotations

import gzip

from bench.generated_site import LARGEST_BYTES, SMALLEST_BYTES, make_site
from trawl_core.extract.links import find_links

PAGES = 40


def pages_of(site):
    return {f"http://site.test/p/{file.name.removesuffix('.gz')}": gzip.decompress(file.read_bytes()) for file in (site / "p").iterdir()}


def test_every_page_is_reached_from_the_first_one(tmp_path):
    pages = pages_of(make_site(tmp_path, PAGES))
    assert len(pages) == PAGES
    reached, ahead = set(), ["http://site.test/p/0.html"]
    while ahead:
        url = ahead.pop()
        if url not in reached:
            reached.add(url)
            ahead += [link.url for link in find_links(pages[url], url).links]
    assert reached == pages.keys()


def test_pages_have_the_size_and_the_links_that_the_bench_states(tmp_path):
    pages = pages_of(make_site(tmp_path, PAGES))
    sizes = [len(page) for page in pages.values()]
    assert min(sizes) > SMALLEST_BYTES * 0.95 and max(sizes) < LARGEST_BYTES * 1.05
    assert 75_000 < sum(sizes) / PAGES < 97_000
    assert all(180 <= page.count(b"<a ") <= 200 for page in pages.values())


def test_the_same_bytes_everywhere_and_made_once(tmp_path):
    first, second = make_site(tmp_path / "a", 5), make_site(tmp_path / "b", 5)
    assert pages_of(first) == pages_of(second)
    made = (first / "p" / "0.html.gz").stat().st_mtime_ns
    assert make_site(tmp_path / "a", 5) == first and (first / "p" / "0.html.gz").stat().st_mtime_ns == made
