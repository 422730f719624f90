"""How one stored change reads: its headline, its lines, its HTML fragment."""

from __future__ import annotations

import re
from collections.abc import Mapping
from html import escape
from typing import Any

Row = Mapping[str, Any]

MAX_LINES = 20
MAX_LINE_CHARS = 400

_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")


def headline(row: Row) -> str:
    """One line without the URL: `content: 3 words added, 1 removed`."""
    event = row["event"]
    if event == "moved":
        return f"moved to {row['final_url']}"
    if event in ("gone", "reappeared", "soft_gone", "unreachable"):
        status = f" ({row['prev_status']} → {row['status']})" if row.get("prev_status") and row.get("status") else ""
        return f"{event}{status}"
    parts = []
    if row.get("words_added") or row.get("words_removed"):
        added = row.get("words_added") or 0
        parts.append(f"{added} {'word' if added == 1 else 'words'} added, {row.get('words_removed') or 0} removed")
    if fields := row.get("fields"):
        parts.append("1 field" if len(fields) == 1 else f"{len(fields)} fields")
    return f"{event}: {', '.join(parts)}" if parts else event


def changed_lines(row: Row) -> list[tuple[str, str]]:
    """("-" | "+" | "…", line): removed text, added text, then fields, cut to MAX_LINES lines."""
    lines = [("-", line) for line in _lines(row.get("removed_text"))] + [("+", line) for line in _lines(row.get("added_text"))]
    for field in row.get("fields") or ():
        if field["old"] is not None:
            lines.append(("-", f"{field['path']}: {field['old']}"))
        if field["new"] is not None:
            lines.append(("+", f"{field['path']}: {field['new']}"))
    shown = [(sign, cut(line)) for sign, line in lines[:MAX_LINES]]
    if len(lines) > MAX_LINES:
        shown.append(("…", f"{len(lines) - MAX_LINES} more lines"))
    elif row.get("truncated"):
        shown.append(("…", "the stored text was cut for size"))
    return shown


def _lines(text: str | None) -> list[str]:
    return text.split("\n") if text else []


def cut(line: str) -> str:
    """Without control characters, which could steer a terminal."""
    line = _CONTROL.sub(" ", line)
    return line if len(line) <= MAX_LINE_CHARS else line[: MAX_LINE_CHARS - 1] + "…"


def render_fragment(row: Row) -> str:
    """One change as HTML: the headline, then del and ins."""
    tags = {"-": "del", "+": "ins", "…": "p"}
    lines = "".join(f"<{tags[sign]}>{escape(line)}</{tags[sign]}>" for sign, line in changed_lines(row))
    return f"<p>{escape(cut(headline(row)))}</p>{lines}"
