"""A documentation site of about 120 pages on Tidepost, a message queue library that does not exist.

Night 1 is release 3.2: every page gets a new build stamp in its footer, a handful are edited, three are new, two have
moved, two are gone.
"""

from __future__ import annotations

import html
from collections.abc import Callable
from dataclasses import replace

from trawl_core.demo.content import Answer, SiteContent, missing_page, redirect
from trawl_core.demo.entries import Entry, read_entries, to_html
from trawl_core.demo.pages import Layout, edition, links_list

NAV = (
    ("/guide/", "Guide"),
    ("/tutorials/", "Tutorials"),
    ("/reference/settings/", "Settings"),
    ("/reference/classes/", "Classes"),
    ("/reference/errors/", "Errors"),
    ("/changelog", "Changelog"),
)
STAMPS = ("Tidepost 3.1.4 · built 2025-03-03 06:30 · revision 5c1e9a", "Tidepost 3.2.0 · built 2025-09-15 06:30 · revision e07b42")
MOVED = {"/guide/backups": "/guide/backup-and-restore", "/guide/limits": "/guide/known-limits"}
GONE = {"/guide/python-310": 410, "/guide/legacy-spool": 404}


def build_docs(night: int) -> SiteContent:
    """The site on night 0 or 1. Every page but a few is sent gzipped, some in chunks."""
    tonight = _answers(night)
    return SiteContent("docs", night, edition(night, tonight, _answers(0) if night else {}))


def _answers(night: int) -> dict[str, Answer]:
    layout = Layout("Tidepost documentation", NAV, STAMPS[night], "Tidepost is a fictional library; its documentation is free to copy.")
    answers: dict[str, Answer] = {}
    for number, (path, (title, main)) in enumerate(sorted(_mains(night).items())):
        page = layout.page(title, main, kind="article").encode()
        answers[path] = Answer(body=page, stamp=STAMPS[night], gzip=number % 5 != 0, chunked=number % 7 == 3)
    answers["/robots.txt"] = Answer(content_type="text/plain", body=b"User-agent: *\nDisallow: /search\n")
    if night:
        answers |= {old: redirect(new) for old, new in MOVED.items()}
        answers |= {path: missing_page(status, "This page was retired with release 3.2.") for path, status in GONE.items()}
    return answers


def _mains(night: int) -> dict[str, tuple[str, str]]:
    """Path → (title, main part as HTML)."""
    sections = {
        "guide": {f"/{entry.fields[0]}": entry for entry in _chapters("docs_guide", night, "guide/") + _retired(night)},
        "tutorials": {f"/{entry.fields[0]}": entry for entry in _chapters("docs_tutorials", night, "tutorials/")},
    }
    titles = {path: entry.fields[1] for section in sections.values() for path, entry in section.items()}
    moved = MOVED if night else {}

    def link(target: str) -> str:
        path = moved.get(f"/{target}", f"/{target}")
        label = titles.get(path, path.rsplit("/", 1)[-1].replace("-", " "))
        return f'<a href="{path}">{html.escape(label)}</a>'

    mains = {}
    for section in sections.values():
        for path, entry in section.items():
            mains[path] = (entry.fields[1], f"<h1>{html.escape(entry.fields[1])}</h1>\n{to_html(entry.lines, link)}")
    settings = {f"/reference/settings/{entry.fields[0]}": entry for entry in read_entries("docs_settings", night)}
    classes = {f"/reference/classes/{entry.fields[0]}": entry for entry in read_entries("docs_classes", night)}
    errors = {f"/reference/errors/{entry.fields[0]}": entry for entry in read_entries("docs_errors", night)}
    mains |= {path: (entry.fields[0], _setting(entry, link)) for path, entry in settings.items()}
    mains |= {path: (entry.fields[0], _class(entry)) for path, entry in classes.items()}
    mains |= {path: (entry.fields[0], _error(entry, link)) for path, entry in errors.items()}
    mains["/guide/"] = _index("Guide", "Chapters on one subject each, in no order that matters.", sections["guide"], 1, "")
    mains["/tutorials/"] = _index("Tutorials", "Complete programs with the reasons behind them.", sections["tutorials"], 1, "")
    mains["/reference/settings/"] = _index("Settings", "Every key that tidepost.open accepts.", settings, 0, "3")
    mains["/reference/classes/"] = _index("Classes", "The public classes.", classes, 0, "1")
    mains["/reference/errors/"] = _index("Errors", "What may be raised, why, and what to do about it.", errors, 0, "1")
    mains["/"] = ("Tidepost", _home(night))
    mains["/changelog"] = ("Changelog", _changelog(night))
    return mains


def _chapters(name: str, night: int, section: str) -> list[Entry]:
    """The entries of a file, moved ones under tonight's path, and from night 1 on the new ones of that section."""
    entries = list(read_entries(name, night))
    if night:
        entries = [
            replace(entry, fields=(MOVED.get(f"/{entry.fields[0]}", f"/{entry.fields[0]}")[1:], *entry.fields[1:])) for entry in entries
        ]
        entries += [entry for entry in read_entries("docs_new", night) if entry.fields[0].startswith(section)]
    return entries


def _retired(night: int) -> list[Entry]:
    return [] if night else list(read_entries("docs_retired", night))


def _index(title: str, words: str, entries: dict[str, Entry], label: int, remark: str) -> tuple[str, str]:
    rows = [(path, entry.fields[label], entry.fields[int(remark)] if remark else "") for path, entry in sorted(entries.items())]
    return title, f"<h1>{title}</h1>\n<p>{words}</p>\n{links_list(rows)}"


def _setting(entry: Entry, link: Callable[[str], str]) -> str:
    name, kind, default, meaning, more, less, see = (html.escape(field) for field in entry.fields)
    return f"""<h1>{name}</h1>
<p>{meaning}</p>
<table><tr><th>Kind</th><td>{kind}</td></tr><tr><th>Default</th><td>{default}</td></tr></table>
<h2>Larger or other values</h2>
<p>{more}</p>
<h2>Smaller values</h2>
<p>{less}</p>
<p>Background: {link(see)}.</p>"""


def _class(entry: Entry) -> str:
    name, what, why = (html.escape(field) for field in entry.fields)
    members = [line.split(" | ", 1) for line in entry.lines]
    rows = "\n".join(f"<dt><code>{html.escape(member)}</code></dt><dd>{html.escape(meaning)}</dd>" for member, meaning in members)
    return f"<h1>class {name}</h1>\n<p>{what}</p>\n<p>{why}</p>\n<h2>Members of {name}</h2>\n<dl>\n{rows}\n</dl>"


def _error(entry: Entry, link: Callable[[str], str]) -> str:
    name, when, cause, remedy, see = (html.escape(field) for field in entry.fields)
    return f"""<h1>{name}</h1>
<p>{name} means: {when}.</p>
<h2>Cause</h2>
<p>{cause}</p>
<h2>Remedy</h2>
<p>{remedy}</p>
<p>Background: {link(see)}.</p>"""


def _home(night: int) -> str:
    news = "Release 3.2 brings adaptive prefetch and dead letter replay." if night else "Release 3.1 is the current one."
    return f"""<h1>Tidepost</h1>
<p>Tidepost is a message queue that lives in your own process: a folder on disk, a handful of classes, no broker to run.</p>
<p>{news} The <a href="/changelog">changelog</a> has the details.</p>
<h2>Where to begin</h2>
<ul>
<li><a href="/guide/installation">Install it</a> and open <a href="/guide/first-queue">a first queue</a>.</li>
<li>Read the <a href="/guide/concepts">concepts</a>; they fit on one page.</li>
<li>Copy a <a href="/tutorials/thumbnail-service">tutorial</a> that resembles your problem.</li>
<li>The source lives at <a href="https://code.example.org/tidepost">code.example.org</a>;
questions go to <a href="mailto:help@example.org">help@example.org</a>.</li>
<li><a href="/search?q=lease">Search</a> is for people, robots are asked to stay away from it.</li>
</ul>"""


def _changelog(night: int) -> str:
    newest = """<h2>3.2.0</h2>
<ul><li>Prefetch adapts to the handler's speed.</li><li>Dead letters can be replayed in batches.</li>
<li>The default lease is ninety seconds, it was sixty.</li><li>Python 3.10 and the legacy spool are no longer supported.</li></ul>
"""
    return f"""<h1>Changelog</h1>
{newest if night else ""}<h2>3.1.4</h2>
<ul><li>Recovery verifies segments in parallel.</li><li>The gateway answers HEAD requests.</li></ul>
<h2>3.1.0</h2>
<ul><li>Three lanes replace numeric priorities.</li><li>Bodies may be compressed by batch.</li></ul>"""
