"""A small-town news site with a feed, a sitemap, and most things that go wrong on the web.

Old articles answer under two addresses, one is reprinted nearly word for word, three pages have trouble with their
charset, two redirect to each other, a path is closed to robots, one page is busy at first and one for ever. Night 1: two
new articles, one edited, one retitled, one moved, one gone.
"""

from __future__ import annotations

import html
from datetime import datetime
from email.utils import format_datetime

from trawl_core.demo.blog_oddities import BUSY, FLAKY, LOOP, PDF, odd_answers
from trawl_core.demo.content import Answer, SiteContent, missing_page, redirect
from trawl_core.demo.entries import Entry, read_entries, to_html
from trawl_core.demo.pages import Layout, edition, links_list

NAV = (("/", "Today"), ("/archive/", "Archive"), ("/about", "About"), ("/feed.xml", "Feed"))
LAYOUT = Layout("The Harbour Gazette", NAV, motto="Every word of this newspaper is made up.")
MOVED = {"/blog/street-names": "/blog/streets-swap-names"}
GONE = {"/blog/cinema-seats": 410}
RETITLED = {"/blog/night-buses": "Night buses wait for the fish auction"}
"""The title in the head changes, the headline on the page does not."""
REPRINT = ("/blog/tide-mill", "/reprints/tide-mill")
"""An article, and the same with one sentence more under another address."""
SITEMAP_ONLY = "/blog/postbox-survey"
FEED_ONLY = "/blog/regatta-fog"
NEVER_WRITTEN = "/blog/the-missing-part-two"


def build_blog(night: int, origin: str) -> SiteContent:
    """`origin` stands in the feed and the sitemap, which need absolute URLs."""
    tonight = _answers(night, origin)
    content = edition(night, tonight, _answers(0, origin) if night else {})
    return SiteContent("blog", night, content, busy_first={FLAKY: BUSY})


def _posts(night: int) -> list[Entry]:
    """Articles of /blog/, oldest first, under tonight's address; (slug, title, date, author)."""
    entries = [*read_entries("blog_archive", night), *read_entries("blog_posts", night)]
    if night:
        entries = [_tonight(entry) for entry in entries if _path(entry) not in GONE] + list(read_entries("blog_new", night))
    return sorted(entries, key=lambda entry: entry.fields[2])


def _tonight(entry: Entry) -> Entry:
    path = MOVED.get(_path(entry), _path(entry))
    return Entry((path.removeprefix("/blog/"), *entry.fields[1:]), entry.lines)


def _path(entry: Entry) -> str:
    return f"/blog/{entry.fields[0]}"


def archived_twice(night: int) -> dict[str, str]:
    """/archive/2024/… → /blog/… of the same article."""
    return {f"/archive/2024/{entry.fields[0]}": _path(entry) for entry in read_entries("blog_archive", night)}


def _answers(night: int, origin: str) -> dict[str, Answer]:
    posts = _posts(night)
    titles = RETITLED if night else {}
    answers = {_path(post): _article(post, title=titles.get(_path(post))) for post in posts}
    twice = archived_twice(night)
    for old, new in twice.items():
        post = next(post for post in posts if _path(post) == new)
        answers[old] = _article(post, head=f'<link rel="canonical" href="{new}">\n')
    original = next(post for post in posts if _path(post) == REPRINT[0])
    added = (*original.lines, "This article was first printed in The Harbour Gazette of 3 February.")
    answers[REPRINT[1]] = _article(Entry(original.fields, added))
    listed = [post for post in reversed(posts) if _path(post) not in (SITEMAP_ONLY, FEED_ONLY)]
    answers["/"] = _page("Today", _front([post for post in listed if post.fields[2] >= "2025"]))
    answers["/archive/"] = _page("Archive", _archive(posts, twice))
    answers["/about"] = _page("About", _about())
    answers["/feed.xml"] = Answer(content_type="application/rss+xml", body=_feed(posts[-12:], origin).encode())
    answers["/sitemap.xml"] = Answer(content_type="application/xml", body=_sitemap(posts, origin).encode())
    answers["/robots.txt"] = Answer(
        content_type="text/plain", body=f"User-agent: *\nDisallow: /private/\n\nSitemap: {origin}/sitemap.xml\n".encode()
    )
    answers |= odd_answers(LAYOUT)
    if night:
        answers |= {old: redirect(new) for old, new in MOVED.items()}
        answers |= {path: missing_page(status, "This article was withdrawn.") for path, status in GONE.items()}
    return answers


def _page(title: str, main: str, head: str = "", kind: str = "website") -> Answer:
    feed = '<link rel="alternate" type="application/rss+xml" href="/feed.xml">\n'
    return Answer(body=LAYOUT.page(title, main, head=feed + head, kind=kind).encode(), gzip=kind == "article")


def _article(post: Entry, head: str = "", title: str | None = None) -> Answer:
    """`title` stands in the head only; the headline stays as it is."""
    _, headline, day, author = post.fields
    head += f'<meta name="author" content="{author}">\n<meta property="article:published_time" content="{day}">\n'
    main = f"<article>\n<h1>{html.escape(headline)}</h1>\n{to_html(post.lines, str)}\n</article>"
    return _page(title or headline, main, head, "article")


def _front(posts: list[Entry]) -> str:
    rows = [(_path(post), post.fields[1], post.fields[2]) for post in posts]
    odd = [
        ("/letters/zurich", "A letter from Zürich", ""),
        ("/letters/paris", "A letter from Paris", ""),
        ("/letters/lisbon", "A letter from Lisbon", ""),
        (PDF, "The tide table as PDF", ""),
        (LOOP[0], "Lost and found", ""),
        (FLAKY, "Harbour webcam notes", ""),
        ("/weather-station", "Weather station", ""),
        ("/private/notes", "Editors' notes", ""),
        (NEVER_WRITTEN, "Part two", ""),
    ]
    return f"<h1>Today</h1>\n{links_list(rows)}\n<h2>Also in this paper</h2>\n{links_list(odd)}"


def _archive(posts: list[Entry], twice: dict[str, str]) -> str:
    titles = {_path(post): post.fields[1] for post in posts}
    rows = [(_path(post), post.fields[1], post.fields[2]) for post in posts if post.fields[2] < "2025"]
    old = [(path, titles[new], "as it first stood here") for path, new in twice.items()]
    reprint = [(REPRINT[1], titles[REPRINT[0]], "reprint")]
    lists = ("Under the old addresses", old), ("Reprints", reprint)
    return f"<h1>Archive</h1>\n{links_list(rows)}\n" + "\n".join(f"<h2>{head}</h2>\n{links_list(links)}" for head, links in lists)


def _about() -> str:
    return """<h1>About</h1>
<p>The Harbour Gazette reports what happens between the lock and the lighthouse, whether it matters or not. Four people write it in
turns, and nobody has ever read all of it.</p>
<p>We are found <a href="https://social.example.org/@gazette">elsewhere</a> too, and in the reading room on Thursdays.</p>"""


def _moment(day: str) -> str:
    return format_datetime(datetime.fromisoformat(f"{day}T06:00:00+00:00"), usegmt=True)


def _feed(posts: list[Entry], origin: str) -> str:
    items = "\n".join(
        f"<item><title>{html.escape(post.fields[1])}</title><link>{origin}{_path(post)}</link>"
        f"<guid>{origin}{_path(post)}</guid><pubDate>{_moment(post.fields[2])}</pubDate>"
        f"<description>{html.escape(post.lines[0])}</description></item>"
        for post in reversed(posts)
        if _path(post) != SITEMAP_ONLY
    )
    return f"""<?xml version="1.0" encoding="utf-8"?>
<rss version="2.0"><channel><title>The Harbour Gazette</title><link>{origin}/</link><description>News from the quay</description>
{items}
</channel></rss>
"""


def _sitemap(posts: list[Entry], origin: str) -> str:
    rows = "\n".join(
        f"<url><loc>{origin}{_path(post)}</loc><lastmod>{post.fields[2]}</lastmod></url>" for post in posts if _path(post) != FEED_ONLY
    )
    return f'<?xml version="1.0" encoding="utf-8"?>\n<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">\n{rows}\n</urlset>\n'
