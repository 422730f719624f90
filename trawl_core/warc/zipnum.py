"""A sorted index in gzip blocks with a small index over them, as WACZ files hold it: `index.cdx.gz` and `index.idx`.

A player looks for the last block whose first key is not above its own, and reads from there on.
"""

from __future__ import annotations

import hashlib
import json
import zlib
from collections.abc import Callable, Iterable, Iterator
from itertools import islice

BLOCK_LINES = 1024
_GZIP = 31


def write_zipnum(lines: Iterable[str], write: Callable[[bytes], object], filename: str, block_lines: int = BLOCK_LINES) -> list[str]:
    """Give each block of `lines`, compressed, to `write`; returns the lines of the index over them (one a block, and a head).

    `filename` is what the index calls the file of blocks.
    """
    index = [f"!meta 0 {json.dumps({'format': 'cdxj-gzip-1.0', 'filename': filename})}\n"]
    offset = 0
    for block in _blocks(lines, block_lines):
        packed = zlib.compress("".join(block).encode(), 6, _GZIP)
        write(packed)
        place = {"offset": offset, "length": len(packed), "digest": f"sha256:{hashlib.sha256(packed).hexdigest()}"}
        index.append(f"{block[0].split('{', 1)[0].strip()} {json.dumps(place)}\n")
        offset += len(packed)
    return index


def _blocks(lines: Iterable[str], size: int) -> Iterator[list[str]]:
    rest = iter(lines)
    while block := list(islice(rest, size)):
        yield block
