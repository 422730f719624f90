"""What HTML elements mean to extraction, by name."""

from __future__ import annotations


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


INVISIBLE = _names(
    "script style template noscript head title select datalist textarea svg iframe object embed audio video canvas map dialog"
)
INLINE = _names(
    """a abbr acronym b bdi bdo big button cite code data del dfn em font i img input ins kbd label mark meter nobr output picture
    progress q rp rt ruby s samp small source span strike strong sub sup time track tt u var wbr link meta math"""
)
HEADINGS = {f"h{level}": level for level in range(1, 7)}
BESIDE_CONTENT = _names("nav header footer aside")
BESIDE_CONTENT_ROLES = _names("navigation banner contentinfo complementary search")

# Those that the parser opens again in the next block when they were not closed (`a` closes the one before it).
FORMATTING = _names("b big code em font i nobr s small strike strong tt u")

# Elements that hold nothing, or that the parser closes by itself when the next of them starts: they do not nest.
FLAT = _names(
    """area base br col embed hr img input link meta param source track wbr p li dt dd tr td th tbody thead tfoot option a
    html head body"""
)
