"""Puts a page of a demo site together: head, navigation, main part, footer with the build's stamp."""

from __future__ import annotations

import html
from collections.abc import Sequence
from dataclasses import dataclass, replace

from trawl_core.demo.content import SECOND_EDITION, Answer


@dataclass(frozen=True)
class Layout:
    """What all pages of one site share. `stamp` is the footer's last line."""

    site_name: str
    nav: tuple[tuple[str, str], ...]
    stamp: str = ""
    motto: str = ""

    def page(self, title: str, main: str, *, head: str = "", kind: str = "website", lang: str = "en", aside: str = "") -> str:
        links = "".join(f'<li><a href="{path}">{html.escape(label)}</a></li>' for path, label in self.nav)
        return f"""<!doctype html>
<html lang="{lang}">
<head>
<meta charset="utf-8">
<title>{html.escape(title)} – {html.escape(self.site_name)}</title>
<meta property="og:site_name" content="{html.escape(self.site_name)}">
<meta property="og:type" content="{kind}">
{head}</head>
<body>
<header><p><a href="/">{html.escape(self.site_name)}</a></p></header>
<nav><ul>{links}</ul></nav>
<main>
{main}
</main>
{f"<aside>{aside}</aside>" if aside else ""}
<footer><p>{html.escape(self.motto)}</p>{f"<p>{html.escape(self.stamp)}</p>" if self.stamp else ""}</footer>
</body>
</html>
"""


def links_list(links: Sequence[tuple[str, str, str]]) -> str:
    """`(path, label, remark)` as a list."""
    rows = (f'<li><a href="{path}">{html.escape(label)}</a>{" – " + html.escape(note) if note else ""}</li>' for path, label, note in links)
    return "<ul>\n" + "\n".join(rows) + "\n</ul>"


def edition(night: int, tonight: dict[str, Answer], before: dict[str, Answer]) -> dict[str, Answer]:
    """Night 1's answers with the Last-Modified of the night on which their bytes came to be."""
    if night == 0:
        return tonight
    return {
        path: answer if _same(answer, before.get(path)) else replace(answer, modified=SECOND_EDITION) for path, answer in tonight.items()
    }


def _same(answer: Answer, before: Answer | None) -> bool:
    return before is not None and (before.status, before.body) == (answer.status, answer.body)
