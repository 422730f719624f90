"""A page's visible blocks in order. The only block splitter of the project: gate, noise filter and diff read what it gives.

A block is the text between two block boundaries of the tree that lexbor builds: a paragraph, a heading, a list item, a
table row (its cells joined by ` | `), a preformatted text. Two line breaks in a row are a boundary too. One or two signs
alone (bullets, separators) are no block.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import NamedTuple

import xxhash
from selectolax.lexbor import LexborHTMLParser, LexborNode

from trawl_core.extract.class_names import hints_of
from trawl_core.extract.elements import BESIDE_CONTENT, BESIDE_CONTENT_ROLES, HEADINGS, INLINE, INVISIBLE
from trawl_core.extract.guards import defuse

CELL = " | "
TRAIL = " › "
MAX_ROW_CHARS = 2000
_MAX_ROW_NESTING = 60
_MAX_HEADING_CHARS = 300
_LISTS = ("ul", "ol", "dl")
_NO_ELEMENTS = frozenset(["", "-comment", "!doctype"])
_MAY_BE_HIDDEN = '[hidden], [style*="none" i], [style*="hidden" i]'

_ZERO_WIDTH = dict.fromkeys((0x00, 0xAD, 0x200B, 0x200C, 0x2060, 0xFEFF))


class Block(NamedTuple):
    """`hash` is xxh3_64 of `text`, which is whitespace-normalised; `heading` the trail of headings above, joined by ` › `.

    `in_main` is False in nav, header, footer and aside, and outside of a main element where the page has one.
    """

    position: int
    hash: int
    heading: str
    text: str
    in_main: bool
    level: int = 0
    """1 to 6 for a heading, 0 for any other block."""


class Surroundings(NamedTuple):
    """Where a block stands. `chars`, `link_chars`, `pieces`: visible characters, those inside links, text nodes. `beside_names`,
    `content_names`, `lists`, `forms`: how many of the elements around it have a class or id that names navigation and the like, one
    that names content, are lists, are forms. `tag` and `depth`: the innermost element that is not inline, and how deep the text is.
    `beside`, `main`, `article`: how many such elements are around it."""

    chars: int
    link_chars: int
    pieces: int
    beside_names: int
    content_names: int
    lists: int
    forms: int
    tag: str
    depth: int
    beside: int
    main: int
    article: int


@dataclass(frozen=True)
class Split:
    """Blocks of a page and what walking its tree tells besides: `depth` of the deepest element, visible characters and how many of
    them stand inside links, each block's surroundings, how often each element occurs."""

    blocks: tuple[Block, ...]
    depth: int
    chars: int
    link_chars: int
    surroundings: tuple[Surroundings, ...] = ()
    tags: Counter[str] = field(default_factory=Counter)
    preformatted: dict[int, str] = field(default_factory=dict)
    """By position the text as written of blocks whose lines and indentation mean something."""

    @property
    def link_density(self) -> float:
        return self.link_chars / self.chars if self.chars else 0.0


def page_blocks(html_text: str) -> list[Block]:
    """Visible blocks of an HTML document; empty when it shows no text."""
    return list(split_tree(LexborHTMLParser(defuse(html_text)[0])).blocks)


def split_tree(tree: LexborHTMLParser) -> Split:
    body = tree.body
    if body is None:
        return Split((), 0, 0, 0)
    hidden = frozenset(node.mem_id for node in tree.css(_MAY_BE_HIDDEN) if _is_hidden(node.attributes))
    return _Walk(any(True for node in tree.css("main, [role=main]") if node.text(strip=True)), hidden).run(body)


def block_hash(text: str) -> int:
    return xxhash.xxh3_64_intdigest(text.encode("utf-8", "replace"))


def normalize_space(text: str) -> str:
    """Runs of white space as one space, none at the ends, no characters without width."""
    if not text.isascii() or "\x00" in text:
        text = text.translate(_ZERO_WIDTH)
    return " ".join(text.split())


_Around = tuple[int, int, int, int, str]


class _Walk:
    """One pass over the tree without recursion: a page may be nested deeper than Python's stack."""

    def __init__(self, has_main: bool, hidden: frozenset[int]) -> None:
        self.has_main = has_main
        self.hidden = hidden
        self.blocks: list[Block] = []
        self.parts: list[str] = []
        self.trails: dict[bool, list[tuple[int, str]]] = {True: [], False: []}
        self.beside = self.main = self.article = self.links = self.row = 0
        self.chars = self.link_chars = 0
        self.level = 0
        self.after_break = False
        self.surroundings: list[Surroundings] = []
        self.preformatted: dict[int, str] = {}
        # beside_names, content_names, lists, forms and tag of what is open now, and those at the start of the block, with its depth.
        self.around: _Around = (0, 0, 0, 0, "body")
        self.started: tuple[_Around, int] = (self.around, 1)
        self.block_chars = self.block_link_chars = self.pieces = 0

    def run(self, body: LexborNode) -> Split:
        depth = deepest = 1
        open_elements: list[tuple[str, str | None, _Around]] = []
        tags: Counter[str] = Counter()
        hidden = self.hidden
        node = body.child
        while node is not None:
            descend = None
            tag = node.tag or ""
            if tag == "-text":
                self.text(node.text_content or "", depth)
            elif tag not in _NO_ELEMENTS:
                tags[tag] += 1
                if tag not in INVISIBLE and not (hidden and node.mem_id in hidden):
                    around = self.around
                    is_inline = tag in INLINE
                    if is_inline:
                        what = None
                        if tag == "a":
                            self.links += 1
                            what = "link"
                    else:
                        attributes = node.attributes
                        what = self.enter(tag, node, attributes, depth)
                    descend = node.child
                    if descend is None:
                        self.leave(tag, what)
                    else:
                        if not is_inline:
                            self.around = _inside(around, tag, attributes)
                        open_elements.append((tag, what, around))
                        depth += 1
                        deepest = max(deepest, depth)
            if descend is not None:
                node = descend
                continue
            following = node.next
            while following is None and open_elements:
                node = node.parent
                depth -= 1
                tag, what, around = open_elements.pop()
                self.leave(tag, what)
                self.around = around
                following = node.next
            node = following
        self.flush()
        return Split(tuple(self.blocks), deepest, self.chars, self.link_chars, tuple(self.surroundings), tags, self.preformatted)

    def space(self) -> None:
        """A space, which before all else of a block says something only in preformatted text."""
        if self.parts or self.around[4] == "pre":
            self.parts.append(" ")

    def text(self, text: str, depth: int) -> None:
        if text.isspace():
            self.space()
            return
        if not self.pieces:
            self.started = self.around, depth
        self.after_break = False
        self.parts.append(text)
        size = len(text.strip())
        self.pieces += 1
        self.block_chars += size
        if self.links:
            self.block_link_chars += size

    def enter(self, tag: str, node: LexborNode, attributes: dict[str, str | None], depth: int) -> str | None:
        """Account for the start of an element; the answer is what `leave` has to take back."""
        if tag == "br":
            if self.after_break and not self.row:
                self.flush()
            self.after_break = True
            self.space()
            return None
        what = None
        if self.row:
            if tag in ("td", "th") and any(part.strip() for part in self.parts):
                self.parts.append(CELL)
            else:
                self.space()
            return None
        if self.parts:
            self.flush()
        self.after_break = False
        role = (attributes.get("role") or "").lower()
        if tag == "tr" and depth <= _MAX_ROW_NESTING and _is_data_row(node):
            self.row += 1
            what = "row"
        elif tag in HEADINGS:
            self.level = HEADINGS[tag]
            what = "heading"
        elif tag == "main" or role == "main":
            self.main += 1
            what = "main"
        elif tag == "article":
            self.article += 1
            what = "article"
        elif (tag in BESIDE_CONTENT or role in BESIDE_CONTENT_ROLES) and not (tag == "header" and (self.article or self.main)):
            self.beside += 1
            what = "beside"
        return what

    def leave(self, tag: str, what: str | None) -> None:
        if what == "link":
            self.links -= 1
            return
        if tag == "br" or tag in INLINE:
            return
        if self.row and what != "row":
            self.space()
            return
        if self.parts:
            self.flush()
        self.after_break = False
        if what == "row":
            self.row -= 1
        elif what == "heading":
            self.level = 0
        elif what == "main":
            self.main -= 1
        elif what == "article":
            self.article -= 1
        elif what == "beside":
            self.beside -= 1

    def flush(self) -> None:
        """End the block that is being collected."""
        self.after_break = False
        if not self.parts:
            return
        written = "".join(self.parts)
        self.parts.clear()
        text = normalize_space(written)
        if text.endswith("¶"):
            text = text.rstrip("¶").rstrip()
        chars, link_chars, pieces = self.block_chars, self.block_link_chars, self.pieces
        if pieces:
            self.chars += chars
            self.link_chars += link_chars
            self.block_chars = self.block_link_chars = self.pieces = 0
        if len(text) < 3 and not any(letter.isalnum() for letter in text):
            return
        around, depth = self.started
        if around[4] == "pre" and "\n" in written:
            self.preformatted[len(self.blocks)] = written.strip("\n")
        self.surroundings.append(Surroundings(chars, link_chars, pieces, *around, depth, self.beside, self.main, self.article))
        in_main = not self.beside and (not self.has_main or self.main > 0)
        trail = self.trails[in_main]
        if self.level:
            while trail and trail[-1][0] >= self.level:
                trail.pop()
        heading = TRAIL.join([title for _, title in trail]) if trail else ""
        self.blocks.append(Block(len(self.blocks), block_hash(text), heading, text, in_main, self.level))
        if self.level:
            trail.append((self.level, text[:_MAX_HEADING_CHARS]))


def _inside(around: _Around, tag: str, attributes: dict[str, str | None]) -> _Around:
    beside_names, content_names, lists, forms, _ = around
    if attributes:
        named_beside, named_content = hints_of(attributes.get("class"), attributes.get("id"))
        beside_names += named_beside
        content_names += named_content
    return beside_names, content_names, lists + (tag in _LISTS), forms + (tag == "form"), tag


def _is_hidden(attributes: dict[str, str | None]) -> bool:
    if not attributes:
        return False
    if "hidden" in attributes and (attributes["hidden"] or "").lower() != "until-found":
        return True
    style = attributes.get("style")
    return bool(style) and any(rule in style.replace(" ", "").lower() for rule in ("display:none", "visibility:hidden"))


def _is_data_row(row: LexborNode) -> bool:
    """False for the row of a table that lays out a page: one that holds a table or much text."""
    return row.css_first("table") is None and len(row.text()) <= MAX_ROW_CHARS
