"""What a browser loads to show a page: pictures, icons, posters, sound, video, style sheets, scripts. No links, and no pages."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from selectolax.lexbor import LexborAttributes, LexborHTMLParser

from trawl_core.extract.srcset import srcset_urls
from trawl_core.urls.references import KnownLinks, References

# `data-src` and `data-srcset` are what the common scripts for lazy loading read.
_ONE = {
    "img": ("src", "data-src"),
    "source": ("src", "data-src"),
    "video": ("poster", "src", "data-src"),
    "audio": ("src", "data-src"),
    "track": ("src",),
    "input": ("src",),
    "embed": ("src",),
    "object": ("data",),
    "script": ("src",),
    "image": ("href", "xlink:href"),
    "body": ("background",),
    "table": ("background",),
    "td": ("background",),
    "link": ("href",),
}
_SET = {"img": ("srcset", "data-srcset"), "source": ("srcset", "data-srcset"), "link": ("imagesrcset",)}
_SELECTOR = (
    "img, source, video, audio, track[src], input[type=image i][src], embed[src], object[data], script[src], image, "
    "body[background], table[background], td[background], link[rel]"
)
_LOADED_RELS = frozenset(
    {"stylesheet", "icon", "apple-touch-icon", "apple-touch-icon-precomposed", "mask-icon", "manifest", "modulepreload"}
)
_PRELOADED = frozenset({"image", "style", "script", "font", "video", "audio", "track"})


class Requisite(NamedTuple):
    """`url` is absolute and normalised; `tag` is the element's name."""

    url: str
    tag: str


def find_requisites(tree: LexborHTMLParser, resolve: References, known: KnownLinks) -> tuple[Requisite, ...]:
    """In document order, each URL once; those that `known` leads to are left out."""
    by_root, by_folder = known.settled(resolve.folder)
    found: dict[str, Requisite] = {}
    for tag, reference in _references(tree):
        if reference in (by_root if reference[0] == "/" else by_folder):
            continue
        target = resolve(reference)
        if target is not None and target not in found and not known.leads_to(target, reference, resolve.folder):
            found[target] = Requisite(target, tag)
    return tuple(found.values())


def _references(tree: LexborHTMLParser) -> Iterator[tuple[str, str]]:
    """(tag, reference without fragment)."""
    for node in tree.css(_SELECTOR):
        tag, attributes = node.tag or "", node.attrs
        if tag == "link" and not _is_loaded(attributes):
            continue
        references = [attributes.get(name) or "" for name in _ONE[tag]]
        for name in _SET.get(tag, ()):
            references += srcset_urls(attributes.get(name) or "")
        for reference in references:
            text = reference.strip()
            if text[:5].lower() != "data:" and (text := text.partition("#")[0].rstrip()):
                yield tag, text


def _is_loaded(attributes: LexborAttributes) -> bool:
    rels = set((attributes.get("rel") or "").lower().split())
    return bool(rels & _LOADED_RELS) or ("preload" in rels and (attributes.get("as") or "").strip().lower() in _PRELOADED)
