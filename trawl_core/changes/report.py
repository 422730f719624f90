"""Stored rows of `changes` for people: text, Markdown, HTML, JSON, and Atom by feed.py.

Everything shown was stored when the change was found; nothing is compared again. Whatever a page said is escaped.
"""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from html import escape
from itertools import groupby
from typing import Any

from trawl_core.changes.feed import render_atom
from trawl_core.changes.wording import changed_lines, cut, headline, render_fragment
from trawl_core.errors import UsageError

Row = Mapping[str, Any]

# What a person wants to know first stands first.
_ORDER = ("content", "structured", "metadata", "moved", "gone", "soft_gone", "reappeared", "reverted", "unreachable", "template", "new")
# Events of which one line tells everything, however many pages have them.
_COUNTED = ("template", "new")
_SAMPLES = {"template": 3, "new": 10}
_MARKDOWN = re.compile(r"([\\`*_{}\[\]<>#|~])")


def render_changes(rows: Sequence[Row], form: str = "text") -> str:
    """`rows` as text, md, html, atom or json; raises UsageError for another form."""
    renderers: dict[str, Callable[[Sequence[Row]], str]] = {
        "text": _text,
        "md": _markdown,
        "html": render_html,
        "atom": render_atom,
        "json": _json,
    }
    if form not in renderers:
        raise UsageError(f"showing changes as {form!r}: there is no such format; take one of {', '.join(renderers)}.")
    return renderers[form](_sorted(rows))


def _sorted(rows: Iterable[Row]) -> list[Row]:
    return sorted(rows, key=lambda row: (row["crawl_date"], row["domain"], _ORDER.index(row["event"]), row["url"]))


def _partitions(rows: Sequence[Row]) -> list[tuple[str, list[Row], dict[str, list[Row]]]]:
    """(heading, rows shown one by one, rows by event shown as a count) for each date and domain."""
    parts = []
    for (day, domain), group in groupby(rows, key=lambda row: (row["crawl_date"], row["domain"])):
        single: list[Row] = []
        counted: dict[str, list[Row]] = defaultdict(list)
        for row in group:
            if row["event"] in _COUNTED:
                counted[row["event"]].append(row)
            else:
                single.append(row)
        parts.append((f"{domain}, {day}", single, counted))
    return parts


def _counted_line(event: str, rows: Sequence[Row]) -> str:
    pages = "1 page" if len(rows) == 1 else f"{len(rows)} pages"
    samples = _SAMPLES[event]
    urls = ", ".join(cut(row["url"]) for row in rows[:samples]) + (", …" if len(rows) > samples else "")
    return f"{'template change on' if event == 'template' else 'new:'} {pages}: {urls}"


def _text(rows: Sequence[Row]) -> str:
    if not rows:
        return "No changes."
    blocks = []
    for heading, single, counted in _partitions(rows):
        lines = [heading]
        for row in single:
            lines.append(f"  {cut(row['url'])}")
            lines.append(f"    {cut(headline(row))}")
            lines += [f"      {sign} {line}" for sign, line in changed_lines(row)]
        lines += [f"  {_counted_line(event, group)}" for event, group in counted.items()]
        blocks.append("\n".join(lines))
    return "\n\n".join(blocks)


def _markdown(rows: Sequence[Row]) -> str:
    if not rows:
        return "No changes."

    def plain(text: str) -> str:
        return _MARKDOWN.sub(r"\\\1", text)

    lines = []
    for heading, single, counted in _partitions(rows):
        lines += [f"## {plain(heading)}", ""]
        for row in single:
            lines.append(f"- {plain(cut(row['url']))}: {plain(cut(headline(row)))}")
            for sign, line in changed_lines(row):
                text = plain(line)
                lines.append(f"    - {f'~~{text}~~' if sign == '-' else f'**{text}**' if sign == '+' else f'… {text}'}")
        lines += [f"- {plain(_counted_line(event, group))}" for event, group in counted.items()]
        lines.append("")
    return "\n".join(lines).rstrip("\n")


_STYLE = (
    "body{font:16px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem}"
    "ins{background:#dafbe1;text-decoration:none}del{background:#ffebe9}ins,del{display:block;padding:0 .4rem;overflow-wrap:anywhere}"
    "h3{font-size:1rem;margin:1.5rem 0 0;overflow-wrap:anywhere}p{margin:.2rem 0}"
)


def render_html(rows: Sequence[Row]) -> str:
    """A page of its own, without scripts and without anything loaded from elsewhere."""
    body = []
    for heading, single, counted in _partitions(rows):
        body.append(f"<section><h2>{escape(heading)}</h2>")
        for row in single:
            body.append(f"<article><h3>{_link(row['url'])}</h3>{render_fragment(row)}</article>")
        body += [f"<p>{escape(_counted_line(event, group))}</p>" for event, group in counted.items()]
        body.append("</section>")
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8"><title>Changes</title>'
        f"<style>{_STYLE}</style></head>\n<body><h1>Changes</h1>\n" + ("\n".join(body) or "<p>No changes.</p>") + "\n</body></html>"
    )


def _link(url: str) -> str:
    shown = escape(cut(url))
    return f'<a href="{escape(url)}">{shown}</a>' if url.startswith(("http://", "https://")) else shown


def _json(rows: Sequence[Row]) -> str:
    return json.dumps([dict(row) for row in rows], ensure_ascii=False, indent=2, default=str)
