"""A long feed cut into short ones, since feedparser takes seventy times the memory of what it reads."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

# A feed of so many bytes is read in one.
WHOLE_BYTES = 256 * 1024
SLICE_BYTES = 64 * 1024
_MOST_BYTES_OF_HEAD = 64 * 1024
_LONGEST_ITEM = 1 << 20

_ITEM = re.compile(rb"<(?:[\w.-]+:)?(?:item|entry)[\s>]", re.IGNORECASE)
_TAG = re.compile(rb"<(/?)([A-Za-z][\w:.-]*)[^<>]*?(/?)>")


def feed_slices(document: Iterable[bytes | memoryview]) -> Iterator[bytes]:
    """Feeds with the head of the long one, which have its items in order between them; an item of over a megabyte is left out.

    A feed without items that are found, or with a head that takes too long, comes as its first WHOLE_BYTES.
    """
    pieces = iter(document)
    start = bytearray()
    for piece in pieces:
        start += piece
        if len(start) > WHOLE_BYTES:
            break
    first = _ITEM.search(start)
    if len(start) <= WHOLE_BYTES or first is None or first.start() > _MOST_BYTES_OF_HEAD:
        yield bytes(start[:WHOLE_BYTES])
        return
    head = bytes(start[: first.start()])
    end = _ends_of(head)
    items = start[first.start() :]
    for piece in pieces:
        if len(items) > SLICE_BYTES:
            yield from _cut_off(items, head, end)
        items += piece
    yield from _cut_off(items, head, end)
    yield head + items


def _cut_off(items: bytearray, head: bytes, end: bytes) -> Iterator[bytes]:
    """Take whole items from the front of `items`, until what is left is short or one item."""
    while len(items) > SLICE_BYTES:
        cut = 0
        for match in _ITEM.finditer(items, 1):
            if cut and match.start() > SLICE_BYTES:
                break
            cut = match.start()
            if cut > SLICE_BYTES:
                break
        if cut:
            yield head + items[:cut] + end
            del items[:cut]
            continue
        if len(items) > _LONGEST_ITEM:
            # Its tag stays, so that its end finds a beginning.
            del items[len("<item>") : -len("</description>")]
        return


def _ends_of(head: bytes) -> bytes:
    """End tags of what the head leaves open."""
    opened: list[bytes] = []
    for is_end, name, is_empty in _TAG.findall(head):
        if is_end and name in opened:
            del opened[len(opened) - 1 - opened[::-1].index(name) :]
        elif not is_end and not is_empty:
            opened.append(name)
    return b"".join(b"</%s>" % name for name in reversed(opened))
