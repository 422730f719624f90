"""Pages whose content scripts put there: recognised without running one.

The crawl asks it of a page that has just come, the extraction of one from the archive, so that both say the same.
"""

from __future__ import annotations

from selectolax.lexbor import LexborHTMLParser

from trawl_core.extract.blocks import Split, split_tree
from trawl_core.extract.charset import decode
from trawl_core.extract.guards import defuse

_FEW_CHARS = 250
_MOUNT_POINTS = "#root, #app, #__next, #__nuxt, #___gatsby, #svelte, app-root, [ng-app], [data-reactroot]"


def needs_browser(tree: LexborHTMLParser, split: Split) -> bool:
    """Whether scripts seem to render the content: next to no text, scripts, and a place for them to fill."""
    if split.chars >= _FEW_CHARS or tree.css_first("script") is None:
        return False
    if split.chars == 0 and tree.css_first("script[src]") is not None:
        return True
    mounts = any(not node.text(strip=True) for node in tree.css(_MOUNT_POINTS))
    return mounts or any("javascript" in (node.text() or "").lower() for node in tree.css("noscript"))


def is_scripted(html: bytes, charset: str | None = None) -> bool:
    """`needs_browser` of a document's bytes; `charset` is the one that Content-Type declares."""
    source = decode(html, charset).text
    if "<script" not in source.lower():
        return False
    tree = LexborHTMLParser(defuse(source)[0])
    return needs_browser(tree, split_tree(tree))
