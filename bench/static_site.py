"""A folder of files as a site for the demo server: content-hash ETags, a robots.txt, a redirect from / to the index."""

from __future__ import annotations

import mimetypes
import re
from datetime import datetime
from pathlib import Path

from trawl_core.demo.content import HTML, Answer, SiteContent, redirect


def folder_site(folder: Path, night: int, origin: str, modified: datetime, leave_out: tuple[str, ...] = ()) -> SiteContent:
    """Every file below `folder` but those below the top folders `leave_out`; HTML goes out gzipped, the rest as it is.

    The sitemap names all HTML pages, as documentation hosts do: some are reached by no link.
    """
    answers = {"/": redirect("/index.html")}
    for file in sorted(path for path in folder.rglob("*") if path.is_file()):
        name = file.relative_to(folder)
        if name.parts[0] not in leave_out:
            kind = HTML if file.suffix == ".html" else mimetypes.guess_type(file.name)[0] or "application/octet-stream"
            answers[f"/{name.as_posix()}"] = Answer(content_type=kind, body=file.read_bytes(), gzip=kind == HTML, modified=modified)
    rows = "".join(f"<url><loc>{origin}{path}</loc></url>\n" for path, answer in answers.items() if is_page(answer))
    sitemap = f'<?xml version="1.0" encoding="utf-8"?>\n<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">\n{rows}</urlset>\n'
    robots = f"User-agent: *\nDisallow:\nSitemap: {origin}/sitemap.xml\n"
    answers["/sitemap.xml"] = Answer(content_type="application/xml", body=sitemap.encode(), modified=modified)
    answers["/robots.txt"] = Answer(content_type="text/plain", body=robots.encode(), modified=modified)
    return SiteContent(folder.name, night, answers)


def is_page(answer: Answer) -> bool:
    return answer.status == 200 and answer.content_type.startswith("text/html")


def pages_of(site: SiteContent, include: re.Pattern[str] | None = None) -> set[str]:
    """Paths of all HTML pages, of which `include` keeps those that it matches."""
    return {path for path, answer in site.answers.items() if is_page(answer) and (include is None or include.search(path))}
