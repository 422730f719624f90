"""How records are packed: each a gzip member of its own, by ISA-L or by zlib-ng, and what is packed already only wrapped.

ISA-L is fastest; zlib-ng is for archives where disk is dearer than CPU.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Protocol

from isal import isal_zlib

from trawl_core.errors import ConfigError
from trawl_core.sites import Compression

_GZIP = zlib.MAX_WBITS | 16


class Stream(Protocol):
    """One gzip member while it is made."""

    def compress(self, data: bytes | memoryview, /) -> bytes: ...

    def flush(self) -> bytes: ...


@dataclass(frozen=True)
class Packing:
    """`pack()` begins a member; `label` is what warcinfo says of it."""

    pack: Callable[[], Stream]
    label: str

    @staticmethod
    def wrap() -> Stream:
        """A member for a body that came with a content coding: packing it again would make it no smaller."""
        return zlib.compressobj(0, zlib.DEFLATED, _GZIP)  # ISA-L's level 0 packs all the same, and makes it a fifth larger


def packing_of(settings: Compression) -> Packing:
    """Raises ConfigError when the library is not installed."""
    level = settings.level
    if settings.library == "isal":
        return Packing(partial(isal_zlib.compressobj, level, zlib.DEFLATED, _GZIP), f"gzip, isal level {level}")
    try:
        from zlib_ng import zlib_ng
    except ImportError:
        raise ConfigError(
            "making the archive's writer: compression.library is zlib-ng in sites.yaml, but that is not installed. "
            "Run `pip install 'trawl[zlib-ng]'`, or take the key out: isal is always there."
        ) from None
    return Packing(partial(zlib_ng.compressobj, level, zlib.DEFLATED, _GZIP), f"gzip, zlib-ng level {level}")
