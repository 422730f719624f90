"""Pages cut into overlapping chunks along their sections.

A section reaches from one heading to the next, so an edit touches only the chunks of its own section. Sections longer
than `MAX_CHARS` are cut by semantic-text-splitter at the largest boundary that fits; neighbours inside a section
overlap by up to `OVERLAP_CHARS`.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rapidfuzz.distance import LCSseq
from semantic_text_splitter import TextSplitter

MAX_CHARS = 1000
OVERLAP_CHARS = 100
MAX_TRAIL_CHARS = 200
TRAIL_SEPARATOR = " › "
_PERMALINK_MARKS = "¶#§\uf0c1 \t"

_splitter = TextSplitter(MAX_CHARS, overlap=OVERLAP_CHARS)


@dataclass(frozen=True)
class Chunk:
    """`text` is page_text[start:end]; `heading` is the trail of headings above it, empty when there is none.

    `embedded_text` is what the model reads: the page's subject, the trail and the text.
    """

    position: int
    start: int
    end: int
    heading: str
    text: str
    occurrence: int
    embedded_text: str

    @property
    def sha256(self) -> str:
        return hashlib.sha256(self.embedded_text.encode("utf-8", "replace")).hexdigest()


def split_page(text: str, headings: Sequence[Mapping[str, Any]] | None = None, title: str | None = None) -> list[Chunk]:
    """Chunks of a page's text in order; `headings` are mappings of `level` (1 to 6) and `text` in document order.

    The page's subject, its first h1 or else its title, is embedded with each chunk whose trail does not name it: main
    text often comes without its h1. The h1 goes first because titles carry versions that would make every chunk new.

    Every character of `text` but white space and heading lines lies in a chunk. A heading without a line of its own in
    `text` (from a menu, say) cuts nothing. `occurrence` counts equal chunks of the page from 0.
    """
    chunks: list[Chunk] = []
    seen: Counter[str] = Counter()
    subject = _subject(headings or (), title)
    for heading, section_start, section_end in _sections(text, headings or ()):
        for offset, piece in _splitter.chunk_indices(text[section_start:section_end]):
            start = section_start + offset
            embedded = _embedded_text(_context(subject, heading), piece)
            chunks.append(Chunk(len(chunks), start, start + len(piece), heading, piece, seen[embedded], embedded))
            seen[embedded] += 1
    return chunks


def chunk_id(url: str, chunk_sha256: str, occurrence: int) -> int:
    """Stable positive 63-bit id: the same section of the same page keeps it as long as its text stands."""
    digest = hashlib.sha256(f"{url}\n{chunk_sha256}\n{occurrence}".encode("utf-8", "replace")).digest()
    return (int.from_bytes(digest[:8], "big") >> 1) or 1


def _subject(headings: Sequence[Mapping[str, Any]], title: str | None) -> str:
    first = next((heading["text"] for heading in headings if heading["level"] == 1 and heading["text"]), None)
    return _heading_key(str(first or title or ""))


def _context(subject: str, trail: str) -> str:
    if not subject or subject.casefold() in trail.casefold():
        return trail
    return f"{subject}{TRAIL_SEPARATOR}{trail}" if trail else subject


def _embedded_text(heading: str, text: str) -> str:
    """A very long trail is cut from its far end, so that the model, which reads only so much, gets to the text."""
    return f"{heading[-MAX_TRAIL_CHARS:]}\n{text}" if heading else text


def _sections(text: str, headings: Sequence[Mapping[str, Any]]) -> Iterator[tuple[str, int, int]]:
    """(heading trail, start, end) of each section's body.

    A heading's line belongs to the trail; only where nothing stands below it, not even a deeper heading, is the line
    itself the body.
    """
    trail: list[tuple[int, str]] = []
    found = _heading_lines(text, headings)
    yield "", 0, found[0][0] if found else len(text)
    for at, (line_start, line_end, level, label) in enumerate(found):
        end = found[at + 1][0] if at + 1 < len(found) else len(text)
        while trail and trail[-1][0] >= level:
            trail.pop()
        above = TRAIL_SEPARATOR.join(title for _, title in trail)
        trail.append((level, label))
        if text[line_end:end].strip():
            yield TRAIL_SEPARATOR.join(title for _, title in trail), line_end, end
        elif at + 1 == len(found) or found[at + 1][2] <= level:
            yield above, line_start, end


def _heading_lines(text: str, headings: Sequence[Mapping[str, Any]]) -> list[tuple[int, int, int, str]]:
    """(line start, line end, level, heading) for each heading that stands in `text` as a line of its own, in order.

    The longest common subsequence of lines and headings, from the end: where a table of contents repeats the
    headings, the later lines are the sections.
    """
    wanted = [_heading_key(str(heading["text"] or "")) for heading in headings]
    known = set(wanted) - {""}
    lines, start = [], 0
    for line in text.split("\n"):
        key = _heading_key(line)
        if key in known:
            lines.append((start, start + len(line), key))
        start += len(line) + 1
    found = []
    for step in LCSseq.opcodes([key for *_, key in reversed(lines)], wanted[::-1]):
        if step.tag == "equal":
            for back in range(step.src_end - step.src_start):
                line_start, line_end, key = lines[len(lines) - 1 - step.src_start - back]
                heading = headings[len(headings) - 1 - step.dest_start - back]
                found.append((line_start, line_end, int(heading["level"] or 6), key))
    return found[::-1]


def _heading_key(line: str) -> str:
    return " ".join(line.split()).strip(_PERMALINK_MARKS)
