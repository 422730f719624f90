"""Links of an HTML document: what a crawl follows and what `pages.outlinks` keeps.

Parsed with lexbor, which builds the tree that browsers build, at a fraction of a millisecond a page: this runs for every
page that is fetched.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from selectolax.lexbor import LexborAttributes, LexborHTMLParser, LexborNode

from trawl_core.extract.charset import decode
from trawl_core.extract.guards import defuse
from trawl_core.extract.requisites import Requisite, find_requisites
from trawl_core.urls.normalize import normalize_url
from trawl_core.urls.references import KnownLinks, References

MAX_TEXT_CHARS = 500

# All that is looked for, so that the tree is walked once.
_SELECTOR = "a[href], area[href], iframe[src], frame[src], link[rel][href], base[href], meta[http-equiv][content]"
_BESIDE_LINKS = ("base", "meta")
_FRAMES = ("iframe", "frame")
_FOLLOWED_RELS = frozenset({"next", "prev", "alternate", "canonical"})
# https://html.spec.whatwg.org/#shared-declarative-refresh-steps
_REFRESH = re.compile(
    r"\s*(\d*(?:\.[\d.]*)?)\s*(?:[;,\s]\s*(?:url\s*=\s*)?(?:\"([^\"]*)(?:\".*)?|'([^']*)(?:'.*)?|(.*)))?\Z", re.IGNORECASE | re.DOTALL
)
_Nodes = list[tuple[str, LexborNode]]


class Link(NamedTuple):
    """`url` is absolute and normalised; `rel` is lower case with single spaces, empty when there is none; `tag` is the element's name."""

    url: str
    rel: str
    text: str
    tag: str

    @property
    def nofollow(self) -> bool:
        return "nofollow" in self.rel and "nofollow" in self.rel.split()


@dataclass(frozen=True)
class PageLinks:
    """Links in document order, each URL once; `canonical_hint` is the first link rel=canonical of the head, `meta_refresh`
    the delay in seconds and the target; `base` is what relative references were resolved against; `title` is empty without one.
    `requisites` are read only where they are asked for."""

    links: tuple[Link, ...]
    canonical_hint: str | None
    meta_refresh: tuple[float, str] | None
    base: str
    title: str = ""
    requisites: tuple[Requisite, ...] = ()


def find_links(html: bytes, url: str, charset: str | None = None) -> PageLinks:
    """Links of a document fetched from `url`; `charset` is the one that Content-Type declares."""
    return find_links_in_text(decode(html, charset).text, url)


def find_links_in_text(text: str, url: str, known: KnownLinks | None = None, shown: KnownLinks | None = None) -> PageLinks:
    return links_of_tree(LexborHTMLParser(defuse(text)[0]), url, known, shown)


def links_of_tree(tree: LexborHTMLParser, url: str, known: KnownLinks | None = None, shown: KnownLinks | None = None) -> PageLinks:
    """`known` links are left out, but for the page's first link: it shows that there are some. With `shown` the page's
    requisites are read too, but for those that it knows."""
    nodes = [(node.tag, node) for node in tree.css(_SELECTOR)]
    resolve = References(_base(nodes, url))
    by_root, by_folder = known.settled(resolve.folder) if known is not None else (frozenset(), frozenset())
    found: dict[str, Link] = {}
    for tag, reference, attributes, node in _references(nodes):
        if found and reference in (by_root if reference[0] == "/" else by_folder):
            continue
        target = resolve(reference)
        if target is None or (known is not None and found and known.leads_to(target, reference, resolve.folder)):
            continue
        rel = " ".join((attributes.get("rel") or "").lower().split())
        if tag == "link" and (not _FOLLOWED_RELS & set(rel.split()) or "stylesheet" in rel.split()):
            continue
        link = Link(target, rel, _anchor_text(tag, node, attributes), tag)
        earlier = found.get(target)
        if earlier is None:
            found[target] = link
        elif earlier.nofollow and not link.nofollow:
            # One link that may be followed is enough to follow the URL.
            found[target] = earlier._replace(rel=link.rel, text=earlier.text or link.text)
        elif not earlier.text and link.text:
            found[target] = earlier._replace(text=link.text)
    requisites = find_requisites(tree, resolve, shown) if shown is not None else ()
    return PageLinks(
        tuple(found.values()), _canonical(nodes, resolve), _meta_refresh(nodes, resolve), resolve.base, _title(tree), requisites
    )


def _references(nodes: _Nodes) -> Iterator[tuple[str, str, LexborAttributes, LexborNode]]:
    """What may be a link, with its reference without fragment."""
    for tag, node in nodes:
        if tag in _BESIDE_LINKS:
            continue
        # Reading one attribute costs a third of making a dict of all.
        attributes = node.attrs
        reference = (attributes.get("src" if tag in _FRAMES else "href") or "").strip()
        if "#" in reference and (end := reference.index("#")) and reference[end - 1] > " ":
            reference = reference[:end]
        if reference and reference[0] != "#":
            yield tag, reference, attributes, node


def parse_refresh(content: str) -> tuple[float, str] | None:
    """Delay in seconds and reference of a refresh value; None when it is not one, or only reloads the page."""
    match = _REFRESH.match(content)
    if match is None:
        return None
    reference = next((group for group in match.groups()[1:] if group is not None), "").strip()
    whole = match[1].partition(".")[0]
    return (float(whole or 0), reference) if reference and match[1] else None


def _base(nodes: _Nodes, url: str) -> str:
    for tag, node in nodes:
        if tag == "base":
            return normalize_url(node.attributes.get("href") or "", url) or url
    return url


def _anchor_text(tag: str, node: LexborNode, attributes: LexborAttributes) -> str:
    if tag != "a":
        return _words(attributes.get("alt") or attributes.get("title") or "")
    text = _words(node.text())
    if not text and (image := node.css_first("img[alt]")) is not None:
        text = _words(image.attributes.get("alt") or "")
    return text


def _words(text: str) -> str:
    return " ".join(text.split())[:MAX_TEXT_CHARS]


def _canonical(nodes: _Nodes, resolve: References) -> str | None:
    for tag, node in nodes:
        if tag != "link" or "canonical" not in (node.attributes.get("rel") or "").lower().split():
            continue
        if _inside(node, "head") and not _inside(node, "noscript"):
            return resolve(node.attributes.get("href") or "")
    return None


def _title(tree: LexborHTMLParser) -> str:
    node = tree.css_first("head title")
    return _words(node.text()) if node is not None else ""


def _meta_refresh(nodes: _Nodes, resolve: References) -> tuple[float, str] | None:
    for tag, node in nodes:
        if tag == "meta" and (node.attributes.get("http-equiv") or "").strip().lower() == "refresh" and not _inside(node, "noscript"):
            refresh = parse_refresh(node.attributes.get("content") or "")
            target = resolve(refresh[1]) if refresh else None
            return (refresh[0], target) if refresh and target else None
    return None


def _inside(node: LexborNode, tag: str) -> bool:
    parent = node.parent
    while parent is not None:
        if parent.tag == tag:
            return True
        parent = parent.parent
    return False
