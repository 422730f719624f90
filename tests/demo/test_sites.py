"""The demo sites hold what the demo promises, and the truth agrees with what is served."""

from __future__ import annotations

import gzip
import itertools
import json
import re
import urllib.error
import urllib.request
from collections import deque
from datetime import date
from urllib.parse import urljoin

import pypdfium2
import pytest

from trawl_core.demo import HOSTS, build_site, demo_sites_yaml, expected, serve_demo
from trawl_core.demo.blog_oddities import LETTERS, PDF
from trawl_core.demo.pdf_file import pdf_of
from trawl_core.demo.truth import KINDS
from trawl_core.sites import parse_sites

NIGHTS = [(name, night) for name in HOSTS for night in (0, 1)]


def path_of(url: str) -> str:
    return "/" + url.split("/", 3)[3]


@pytest.mark.parametrize(("name", "night"), NIGHTS)
def test_building_twice_gives_the_same_bytes(name, night):
    first, second = build_site(name, night), build_site(name, night)
    assert first.answers == second.answers
    assert [answer.encoded for answer in first.answers.values()] == [answer.encoded for answer in second.answers.values()]


def test_sizes_are_those_of_the_brief():
    assert 115 <= len(expected("docs", 0).ok) <= 125
    assert 38 <= sum("/product/" in url for url in expected("shop", 0).ok) <= 42
    assert 28 <= sum("/blog/" in url or "/archive/2024/" in url for url in expected("blog", 0).ok) <= 36


@pytest.mark.parametrize(("name", "night"), NIGHTS)
def test_every_expected_page_is_reached_by_following_links(name, night):
    """A plain walk over the served bytes finds exactly the truth, with the calendar cut after a few months."""
    truth = expected(name, night)
    site = build_site(name, night)
    base = f"http://{HOSTS[name]}"
    start = [base + "/", *(base + path for path in ("/sitemap.xml", "/feed.xml") if path in site.answers)]
    found, waiting = set(start), deque(start)
    while waiting:
        url = waiting.popleft()
        answer = site.respond(path_of(url), 2)
        text = answer.body.decode("latin-1")
        links = re.findall(r'<a href="([^"]+)"', text) + re.findall(r"<(?:loc|link)>([^<]+)</", text)
        links += [value for header, value in answer.headers if header == "Location"]
        for link in (urljoin(url, link) for link in links):
            calendar = truth.endless and link.startswith(truth.endless) and not link.startswith(base + "/events/2026/")
            if link.startswith(base + "/") and link not in found and not calendar:
                found.add(link)
                waiting.append(link)
    pages = {url for url in found if not (truth.endless and url.startswith(truth.endless))}
    others = truth.support | truth.denied | truth.loop | truth.unavailable | truth.missing
    assert others <= pages | {base + "/robots.txt"}
    assert pages - others == truth.ok
    for moved in truth.moved.values():
        assert moved in truth.ok


@pytest.mark.parametrize("name", HOSTS)
def test_night_1_splits_into_its_kinds(name):
    truth = expected(name, 1)
    parts = [truth.new, *(getattr(truth, kind) for kind in KINDS)]
    assert frozenset().union(*parts) == truth.ok
    assert sum(map(len, parts)) == len(truth.ok)
    before = expected(name, 0)
    assert before.new == before.ok
    assert before.ok - truth.ok == set(truth.moved) | set(truth.gone)
    assert truth.moved and truth.gone and truth.new and truth.content


def test_the_stamp_touches_every_old_page_of_the_documentation():
    truth = expected("docs", 1)
    assert not truth.not_modified and len(truth.template) > 100
    assert {url.rsplit("/", 1)[-1] for url in truth.content} >= {"leases", "durability", "performance", "dead-letters", "lease_s"}


def test_one_price_rises_and_one_product_changes_for_machines_only():
    truth = expected("shop", 1)
    assert {path_of(url) for url in truth.content} >= {"/product/kettle-arno"}
    assert {path_of(url) for url in truth.structured} == {"/product/lamp-sola"}
    assert len(truth.identical) == 2
    assert "71.00" in build_site("shop", 1).respond("/product/kettle-arno").visible_text


def test_products_carry_json_ld_and_one_has_a_broken_block_beside_it():
    site = build_site("shop", 0)
    broken = {path_of(url) for url in expected("shop", 0).broken_json_ld}
    for path, answer in site.answers.items():
        if path.startswith("/product/"):
            *bad, good = answer.structured
            assert json.loads(good)["@type"] == "Product"
            assert bool(bad) == (path in broken)
            for block in bad:
                with pytest.raises(json.JSONDecodeError):
                    json.loads(block)


def test_the_calendar_goes_on_for_ever_in_both_directions():
    site = build_site("shop", 0)
    path, months = "/events/2026/11", set()
    for _ in range(300):
        months.add(path)
        answer = site.respond(path)
        assert answer.status == 200
        path = re.findall(r'href="(/events/\d{4}/\d\d)">Month after', answer.body.decode())[0]
    assert len(months) == 300
    assert '<a href="/events/2026/10">Month before' in site.respond("/events/2026/11").body.decode()
    assert site.respond("/events/2026/13").status == 404


def shingles(text: str) -> set[tuple[str, ...]]:
    words = re.findall(r"\w+", text.lower())
    return set(zip(*(words[start:] for start in range(5)), strict=False))


def test_only_the_named_pages_are_duplicates():
    """By 5-word shingles of the main parts: named pairs reach .8, no other pair comes near it."""
    main = re.compile(r"<main>.*</main>", re.DOTALL)
    pages = {}
    named = set()
    for name in HOSTS:
        truth = expected(name, 0)
        named |= set(truth.exact) | set(truth.near)
        site = build_site(name, 0)
        for url in truth.ok:
            if found := main.search(site.respond(path_of(url), 2).body.decode("utf-8", "replace")):
                pages[url] = shingles(re.sub(r"<[^>]*>", " ", found[0]))
    alike = {
        frozenset(pair)
        for pair in itertools.combinations(pages, 2)
        if len(pages[pair[0]] & pages[pair[1]]) >= 0.8 * len(pages[pair[0]] | pages[pair[1]])
    }
    assert alike == named and len(alike) == 6


def test_letters_lie_about_their_charset_as_told():
    site = build_site("blog", 0)
    for path, (declared, real, _, words, phrase) in LETTERS.items():
        answer = site.respond(path)
        assert answer.content_type.endswith(declared)
        assert phrase in words and phrase in answer.body.decode(real)
        assert phrase.encode("utf-8") != phrase.encode("cp1252")


def test_the_pdf_has_its_text():
    document = pypdfium2.PdfDocument(build_site("blog", 0).respond(PDF).body)
    text = document[0].get_textpage().get_text_range()
    assert "High water reaches the lock" in text
    assert document.get_metadata_value("Title") == "Tide table of the inner harbour"
    document.close()


@pytest.mark.parametrize("line", ["plain words", "(nested (brackets))", "back\\slash \\(", ") unbalanced", "Zürich é"])
def test_any_line_survives_in_a_pdf(line):
    document = pypdfium2.PdfDocument(pdf_of("title", ["first", line]))
    assert document[0].get_textpage().get_text_range().split("\r\n") == ["first", line]
    document.close()


def test_a_moved_article_keeps_its_bytes_and_another_its_headline():
    truth = expected("blog", 1)
    assert {path_of(url) for url in truth.same_bytes} == {"/blog/streets-swap-names"} <= {path_of(url) for url in truth.moved.values()}
    assert {path_of(url) for url in truth.metadata} == {"/blog/night-buses"}
    before, after = (build_site("blog", night).respond("/blog/night-buses") for night in (0, 1))
    assert before.title != after.title and before.visible_text == after.visible_text


def test_redirects_loop():
    site = build_site("blog", 0)
    assert ("Location", "/loop-b") in site.respond("/loop-a").headers
    assert ("Location", "/loop-a") in site.respond("/loop-b").headers


def test_the_three_sites_are_served_and_sites_yaml_names_them():
    with serve_demo() as demo:
        config = parse_sites(demo_sites_yaml(demo.ports, date(2026, 11, 1)))
        assert [site.domain for site in config.sites] == list(HOSTS.values())
        for site in config.sites:
            with urllib.request.urlopen(site.seeds[0], timeout=10) as answer:
                assert answer.status == 200
        feed = config.site(HOSTS["blog"]).feeds[0]
        with urllib.request.urlopen(feed, timeout=10) as answer:
            assert f"<link>{demo.origins['blog']}/blog/".encode() in answer.read()
        gone = next(iter(expected("docs", 1, demo.origins["docs"]).gone))
        with urllib.request.urlopen(gone, timeout=10) as answer:
            etag = answer.headers["ETag"]
        unchanged = urllib.request.Request(gone, headers={"If-None-Match": etag})
        with pytest.raises(urllib.error.HTTPError) as not_modified:
            urllib.request.urlopen(unchanged, timeout=10)
        not_modified.value.close()
        assert not_modified.value.code == 304
        demo.set_night(1)
        with pytest.raises(urllib.error.HTTPError) as refused:
            urllib.request.urlopen(unchanged, timeout=10)
        refused.value.close()
        assert refused.value.code in (404, 410)


def test_gzip_bodies_decode_to_the_page():
    answers = build_site("docs", 0).answers.values()
    assert {answer.gzip for answer in answers} == {answer.chunked for answer in answers} == {True, False}
    for answer in answers:
        assert (gzip.decompress(answer.encoded) if answer.gzip else answer.encoded) == answer.body


def test_an_unknown_site_is_refused_by_name():
    with pytest.raises(ValueError, match="docs, shop, blog"):
        build_site("forum", 0)
