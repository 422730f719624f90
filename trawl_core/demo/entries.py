"""Reads the texts of the demo sites.

    === field | field | field       begins an entry
    0> line                         stands in night 0 only; `1> line` from night 1 on
    ## Heading                      a section of the entry
        code                        four spaces: a line of code
    words with [[guide/leases]]     anything else is a paragraph; the brackets make a link

A file whose entries have no body may leave the `===` out.
"""

from __future__ import annotations

import html
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from itertools import pairwise

_LINK = re.compile(r"\[\[([^\]]+)\]\]")


@dataclass(frozen=True)
class Entry:
    """`fields` of the first line, `lines` of the body as written, without the marks of a night."""

    fields: tuple[str, ...]
    lines: tuple[str, ...]


@cache
def read_entries(name: str, night: int) -> tuple[Entry, ...]:
    """Entries of text/<name>.txt as they stand on `night`, in the file's order."""
    text = files("trawl_core.demo.text").joinpath(f"{name}.txt").read_text(encoding="utf-8")
    lines = [
        line[2:].removeprefix(" ") if _marked(line) else line
        for line in text.splitlines()
        if line.strip() and not _of_another_night(line, night)
    ]
    if not any(line.startswith("===") for line in lines):
        return tuple(Entry(_fields(line), ()) for line in lines)
    starts = [index for index, line in enumerate(lines) if line.startswith("===")] + [len(lines)]
    return tuple(Entry(_fields(lines[start].removeprefix("===")), tuple(lines[start + 1 : end])) for start, end in pairwise(starts))


def _marked(line: str) -> bool:
    return line.startswith(("0> ", "0>=", "1> ", "1>="))


def _of_another_night(line: str, night: int) -> bool:
    return _marked(line) and line[0] != ("0" if night == 0 else "1")


def _fields(line: str) -> tuple[str, ...]:
    return tuple(part.strip() for part in line.split(" | "))


def to_html(lines: tuple[str, ...], link: Callable[[str], str]) -> str:
    """Body lines as HTML; `link(target)` gives the `<a>` of a bracketed target."""
    parts = []
    code: list[str] = []
    for line in lines:
        if line.startswith("    "):
            code.append(html.escape(line[4:]))
            continue
        if code:
            parts.append(_code(code))
            code = []
        if line.startswith("## "):
            parts.append(f"<h2>{html.escape(line[3:])}</h2>")
        else:
            parts.append(f"<p>{_LINK.sub(lambda match: link(match[1]), html.escape(line, quote=False))}</p>")
    if code:
        parts.append(_code(code))
    return "\n".join(parts)


def _code(lines: list[str]) -> str:
    return "<pre><code>" + "\n".join(lines) + "</code></pre>"
