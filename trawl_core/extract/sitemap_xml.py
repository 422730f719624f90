"""Entries of an XML sitemap as they pass by: no tree is built, so a document of any length and shape takes little memory."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass

from lxml import etree

# (location, whether it is a sitemap's, lastmod), as written.
RawEntry = tuple[str, bool, str | None]

# Protocol and extensions nest four deep and know some forty names; who goes on like this wants to fill the memory.
MAX_DEPTH = 100
MAX_NAMES = 1_000
# Elements on the way to the next entry.
MAX_BARREN = 100_000
# Of text without a tag, of one tag, or of a declaration.
MAX_STILL_BYTES = 1 << 20
_FEED_BYTES = 1 << 16


def read_xml_entries(document: Iterable[bytes | memoryview]) -> Iterator[RawEntry]:
    """The url and sitemap elements that have a loc, in the order of their ends; what is broken gives what can be read.

    An entry that the end of the document cuts is none: its URL may be cut too.
    """
    target = _Target()
    # Without huge_tree libxml2 keeps an eye on entities that grow.
    parser = etree.XMLParser(target=target, recover=True, resolve_entities=False, no_network=True)
    with suppress(etree.XMLSyntaxError):  # nothing after this point can be read; what came before counts
        for piece in document:
            for start in range(0, len(piece), _FEED_BYTES):
                block = bytes(piece[start : start + _FEED_BYTES])
                target.still_bytes += len(block)
                parser.feed(block)
                while target.entries:
                    yield target.entries.popleft()
                if target.is_hostile:
                    return
        parser.close()
    yield from target.entries


@dataclass(slots=True)
class _Open:
    """An element that has begun. `fields` are an entry's own, None for other elements; `text` of a field that is wanted."""

    name: str
    fields: dict[str, str] | None
    text: str | None


class _Target:
    """What lxml's parser tells; `entries` are whole ones that nobody took yet."""

    def __init__(self) -> None:
        self.entries: deque[RawEntry] = deque()
        self.still_bytes = 0
        self._barren = 0
        self._open: list[_Open] = []
        self._names: set[str] = set()

    @property
    def is_hostile(self) -> bool:
        too_much = self._barren > MAX_BARREN or self.still_bytes > MAX_STILL_BYTES
        return too_much or len(self._open) > MAX_DEPTH or len(self._names) > MAX_NAMES

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        self.still_bytes = 0
        self._barren += 1
        if self.is_hostile:
            return
        name = tag.rpartition("}")[2].lower()
        self._names.update((name, *attributes))
        fields = self._open[-1].fields if self._open else None
        is_wanted = fields is not None and name in ("loc", "lastmod") and name not in fields
        self._open.append(_Open(name, {} if name in ("url", "sitemap") else None, "" if is_wanted else None))

    def data(self, text: str) -> None:
        if self._open and (known := self._open[-1].text) is not None and len(known) < MAX_STILL_BYTES:
            self._open[-1].text = known + text

    def end(self, tag: str) -> None:
        self.still_bytes = 0
        if self.is_hostile or not self._open:
            return
        ended = self._open.pop()
        if ended.text is not None and self._open and (fields := self._open[-1].fields) is not None:
            fields.setdefault(ended.name, ended.text)
        if ended.fields and ended.fields.get("loc"):
            self._barren = 0
            self.entries.append((ended.fields["loc"], ended.name == "sitemap", ended.fields.get("lastmod")))

    def close(self) -> None:
        """lxml wants one."""
