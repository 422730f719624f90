"""What a crawl of a demo site must find: worked out from what is served, without any code of the crawler.

`expected(name, night, origin)` names full URLs; what lies below `endless` (the calendar) is in none of the sets.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from trawl_core.demo import blog_oddities, blog_site, shop_site
from trawl_core.demo.content import Answer, SiteContent
from trawl_core.demo.sites import CALENDAR_TRAP, HOSTS, build_site

SUPPORT = ("/robots.txt", "/sitemap.xml", "/feed.xml")
"""Fetched as something else than a page."""
OUTSIDE = {"docs": ("https://code.example.org/tidepost",), "shop": (), "blog": ("https://social.example.org/@gazette",)}


@dataclass(frozen=True)
class Expected:
    """One site on one night, all in URLs.

    `ok` is every page that answers 200 or 304 and can be reached. On night 1 it splits into `new` (not there on
    night 0) and, for a crawl that ran on both nights, `not_modified` (304), `identical` (200 with the same bytes, for
    want of a validator), `content` (visible words changed), `structured` (JSON-LD alone), `metadata` (title alone),
    `template` (the footer's stamp, or markup, alone) and `data` (a document that is not HTML changed). On night 0 all of
    `ok` is `new`. `same_bytes` are new pages whose bytes stood under another URL the night before: they are revisits too.
    `searches` maps a query to the page that belongs among its first three hits.
    """

    name: str
    night: int
    ok: frozenset[str]
    new: frozenset[str]
    not_modified: frozenset[str]
    identical: frozenset[str]
    content: frozenset[str]
    structured: frozenset[str]
    metadata: frozenset[str]
    template: frozenset[str]
    data: frozenset[str]
    moved: dict[str, str]
    gone: dict[str, int]
    missing: frozenset[str]
    denied: frozenset[str]
    outside: frozenset[str]
    loop: frozenset[str]
    busy_first: frozenset[str]
    unavailable: frozenset[str]
    support: frozenset[str]
    exact: tuple[frozenset[str], ...]
    near: tuple[frozenset[str], ...]
    phrases: dict[str, str]
    broken_json_ld: frozenset[str]
    same_bytes: frozenset[str]
    searches: dict[str, str]
    endless: str | None


SEARCHES = {
    "docs": {
        "fast producer overwhelms slow consumer": "/guide/backpressure",
        "how do I make a handler idempotent": "/guide/idempotency",
        "what happens to messages that keep failing": "/guide/dead-letters",
        "a crash left a torn segment, how is it repaired": "/guide/recovery",
    },
    "shop": {"something to grind coffee by hand": "/product/grinder-kolm", "watering can": "/product/can-regn"},
    "blog": {"oysters growing again in the bay": "/blog/oyster-return", "tide table high water lock": blog_oddities.PDF},
}


def expected(name: str, night: int, origin: str | None = None) -> Expected:
    """The truth on `docs`, `shop` or `blog`, night 0 or 1; `origin` as in `build_site`."""
    base = origin or f"http://{HOSTS[name]}"
    tonight = build_site(name, night, base)
    before = build_site(name, 0, base)
    pages = _pages(tonight)
    earlier = _pages(before) if night else {}
    both = {path: (earlier[path], pages[path]) for path in pages.keys() & earlier.keys()}

    def urls(paths: Iterable[str]) -> frozenset[str]:
        return frozenset(base + path for path in paths)

    kinds = {path: _difference(old, new) for path, (old, new) in both.items()}
    redirects = {path: _location(answer) for path, answer in tonight.answers.items() if answer.status in (301, 308)}
    refused = {path: answer.status for path, answer in tonight.answers.items() if answer.status in (404, 410)}
    oddities = name == "blog"
    return Expected(
        name=name,
        night=night,
        ok=urls(pages),
        new=urls(pages.keys() - earlier.keys()),
        **{kind: urls(path for path, found in kinds.items() if found == kind) for kind in KINDS},
        moved={base + old: base + new for old, new in redirects.items()},
        gone={base + path: status for path, status in refused.items()},
        missing=urls([blog_site.NEVER_WRITTEN] if oddities else []),
        denied=urls(_disallowed(name, night)),
        outside=frozenset(OUTSIDE[name]),
        loop=urls(blog_oddities.LOOP if oddities else []),
        busy_first=urls(tonight.busy_first),
        unavailable=urls(path for path, answer in tonight.answers.items() if answer.status == 503),
        support=urls(path for path in SUPPORT if path in tonight.answers),
        exact=tuple(urls(pair) for pair in blog_site.archived_twice(night).items()) if oddities else (),
        near=(urls(blog_site.REPRINT),) if oddities else (),
        phrases={base + path: phrase for path, phrase in _phrases(name).items()},
        broken_json_ld=urls([shop_site.BROKEN_JSON_LD] if name == "shop" else []),
        same_bytes=urls(path for path in pages.keys() - earlier.keys() if pages[path].body in {answer.body for answer in earlier.values()}),
        searches={query: base + path for query, path in SEARCHES[name].items()},
        endless=base + CALENDAR_TRAP if name == "shop" else None,
    )


KINDS = ("not_modified", "identical", "content", "structured", "metadata", "template", "data")


def _disallowed(name: str, night: int) -> list[str]:
    """Linked paths that the site's robots.txt closes."""
    if name == "shop":
        return [product.basket_path for product in shop_site.products_of(night)]
    return ["/search?q=lease"] if name == "docs" else [blog_oddities.PRIVATE]


def _pages(site: SiteContent) -> dict[str, Answer]:
    hidden = {*SUPPORT, blog_oddities.PRIVATE}
    return {path: answer for path, answer in site.answers.items() if answer.status == 200 and path not in hidden}


def _difference(old: Answer, new: Answer) -> str:
    """Which of `KINDS` a page that answers 200 on both nights belongs to."""
    if old.body == new.body:
        return "not_modified" if new.has_validator else "identical"
    if not new.content_type.startswith("text/html"):
        return "data"
    if old.visible_text != new.visible_text:
        return "content"
    if old.structured != new.structured:
        return "structured"
    return "metadata" if old.title != new.title else "template"


def _location(answer: Answer) -> str:
    return dict(answer.headers)["Location"]


def _phrases(name: str) -> dict[str, str]:
    """Path → words that stand in the text only when it was decoded or extracted rightly."""
    if name == "blog":
        return {path: letter[4] for path, letter in blog_oddities.LETTERS.items()} | {blog_oddities.PDF: blog_oddities.TIDES[2]}
    if name == "shop":
        return {"/product/kettle-arno": "counterweighted spout"}
    return {"/guide/durability": "flushed to disk with fdatasync"}
