"""The text of elements that are values of items, within a bound: elements one in another show the same text again and again."""

from __future__ import annotations

from selectolax.lexbor import LexborNode

from trawl_core.extract.blocks import normalize_space

MAX_CHARS = 10_000_000
BEYOND = f"the texts of this page's values are longer than {MAX_CHARS} characters: the others were left out"


class ItemText:
    """Reads texts of one page until they are MAX_CHARS long; `is_full` from then on."""

    def __init__(self) -> None:
        self._left = MAX_CHARS

    @property
    def is_full(self) -> bool:
        return self._left < 0

    def of(self, node: LexborNode) -> str | None:
        """All text inside, white space joined; None beyond the bound."""
        return None if self.is_full else normalize_space(self.spent(node.text()))

    def spent(self, text: str) -> str:
        """Count a text that was read elsewhere."""
        self._left -= len(text)
        return text
