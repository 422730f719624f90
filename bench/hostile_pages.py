"""Pages that break extractors, made here: nesting, attributes, sizes, zeros, cuts, and mutations of ordinary pages."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator

MARK = "Harbour notice"
"""Stands at the innermost or last place of each page whose text must be kept."""

DEPTHS = (250, 260, 1_000, 5_000, 20_000, 100_000)
CUTS = 100


def hostile_pages(large_mb: tuple[int, ...] = (2, 9, 10, 50), script_mb: int = 12) -> Iterator[tuple[str, bytes, bool]]:
    """(name, body, whether its text must hold MARK)."""
    for depth in DEPTHS:
        for element in ("div", "b", "table><tr><td"):
            nested = f"<{element}>".encode() * depth
            yield f"{depth:,} nested {element.partition('>')[0]}", b"<!doctype html><body>" + nested + MARK.encode(), depth <= 20_000
    closed = b"<div>" * 20_000 + MARK.encode() + b"</div>" * 20_000
    yield "20,000 nested div, closed", b"<!doctype html><body>" + closed, True
    yield "100,000 attributes", _page("<p " + " ".join(f"a{number}=v{number}" for number in range(100_000)) + f">{MARK}</p>"), True
    yield "100,000 valueless attributes", _page("<p " + " ".join(f"a{number}" for number in range(100_000)) + f">{MARK}</p>"), True
    yield "10,000 unclosed formatting", _page("".join(f"<b id=x{number}><p>Line {number}" for number in range(10_000)) + MARK), True
    for size in large_mb:
        yield f"{size} MB of paragraphs", _repeated(_paragraph, size), size < 50
        yield f"{size} MB of table rows", b"<table>" + _repeated(_row, size), size < 50
        yield f"{size} MB of one line", b"<p>" + b"rivers and harbours " * (size * 50_000), False
        yield f"{size} MB of links", _repeated(_link, size), False
        yield f"{size} MB of Cyrillic", _repeated(lambda number: f"<p>Река номер {number} течёт мимо гавани к морю.</p>", size), False
        yield f"{size} MB of tag openings", b"<a href=x " * (size * 100_000), False
    script = b"<script>var data = '" + b"abcdefgh " * (script_mb * 111_112) + b"';</script>"
    yield f"{script_mb} MB of script first", b"<!doctype html><html><head>" + script + _page(f"<h1>{MARK}</h1><p>Ferries run.</p>"), True
    image = b"<img src='data:image/png;base64," + b"iVBORw0KGgo" * (script_mb * 95_000) + b"'>"
    yield f"{script_mb} MB of image written in", b"<!doctype html><body>" + image + _page(f"<h1>{MARK}</h1><p>Ferries run.</p>"), True
    yield "zero bytes", b"\x00".join(_page(f"<p>{MARK}</p>" + "<p>Ferries run.</p>" * 50).split(b" ")), False
    yield "nothing but zero bytes", b"\x00" * 1_000_000, False
    yield "100,000 levels of JSON", b"[" * 100_000, False
    yield "1,000,000 entities", _page("&amp;" * 1_000_000 + MARK), True
    yield "100,000 elements without end", _page("<select><option>x" * 50_000 + MARK), False


def cut_pages() -> Iterator[tuple[str, bytes]]:
    """One page, cut at CUTS places spread over it."""
    body = ordinary_page(1)
    for number in range(CUTS):
        at = len(body) * number // CUTS + 1
        yield f"cut at {at:,}", body[:at]


def mutated_pages(count: int, seed: int = 0) -> Iterator[bytes]:
    """Ordinary pages with bytes flipped, parts cut out, doubled and moved, and tags strewn in."""
    chance = random.Random(seed)
    originals = [ordinary_page(number) for number in range(7)]
    for _ in range(count):
        body = bytearray(chance.choice(originals))
        for _ in range(chance.randint(1, 12)):
            chance.choice(_MUTATIONS)(body, chance)
        yield bytes(body)


def ordinary_page(number: int) -> bytes:
    """About 4 kB with all that extractors look at: metadata, JSON-LD, microdata, lists, a table, code, a form, links."""
    paragraphs = "".join(
        f"<p>Notice {number}-{part}: the <b>ferry</b> to <a href='/pier/{part}?x=1#top'>pier {part}</a> leaves at {part % 24}:30, "
        f"weather &amp; tide permitting. Größe “{part}” – {part}&nbsp;€.</p>"
        for part in range(12)
    )
    rows = "".join(f"<tr><th>{hour}:00<td>{hour / 3:.1f} m<td><ul><li>calm<li>fog</ul></tr>" for hour in range(8))
    return f"""<!doctype html><html lang="en"><head><meta charset="utf-8"><base href="/notices/"><title>Notice {number} | Harbour</title>
<meta property="og:title" content="Notice {number}"><meta name="author" content="Ann Bee"><link rel="canonical" href="/n/{number}">
<meta property="article:published_time" content="2024-05-06T10:00:00Z"><meta http-equiv="refresh" content="300; url=/next">
<script type="application/ld+json">{{"@context": "https://schema.org", "@type": "NewsArticle", "headline": "Notice {number}"}}</script>
<style>p {{ color: red }}</style><script>if (a < b) document.write("<p>x</p>");</script></head>
<body><nav><ul><li><a href="/">Home</a></ul></nav>
<main><article itemscope itemtype="https://schema.org/Article"><h1 itemprop="name">Notice {number}</h1>{paragraphs}<!-- note -->
<h2>Tides</h2><table>{rows}</table><pre><code>def tide(hour):
    return hour / 3
</code></pre><blockquote>Mind the gap.</blockquote><select><option>One<option selected>Two</select>
<svg><title>map</title><path d="M0 0"/></svg>
<math><mi>x</mi></math><template><p>hidden</p></template><noscript><img src="a.png" alt="a"></noscript></article></main>
<aside>See also</aside><footer>© Harbour <a rel="nofollow" href="mailto:ann@example.org">mail</a></footer></body></html>""".encode()


def _flip(body: bytearray, chance: random.Random) -> None:
    for _ in range(chance.randint(1, 20)):
        if body:
            body[chance.randrange(len(body))] = chance.randrange(256)


def _cut(body: bytearray, chance: random.Random) -> None:
    start = chance.randrange(len(body) + 1)
    del body[start : start + chance.choice((1, 10, 200, 2000))]


def _end(body: bytearray, chance: random.Random) -> None:
    del body[chance.randrange(len(body) + 1) :]


def _double(body: bytearray, chance: random.Random) -> None:
    start = chance.randrange(len(body) + 1)
    body[start:start] = body[start : start + chance.choice((5, 50, 500))] * chance.choice((1, 2, 30))


def _move(body: bytearray, chance: random.Random) -> None:
    start = chance.randrange(len(body) + 1)
    part = body[start : start + 100]
    del body[start : start + 100]
    at = chance.randrange(len(body) + 1)
    body[at:at] = part


def _strew(body: bytearray, chance: random.Random) -> None:
    for _ in range(chance.randint(1, 30)):
        at = chance.randrange(len(body) + 1)
        body[at:at] = chance.choice(_SOUP)


_SOUP = (
    *b"""<p> </p> <div </div> <table> <tr> <td> </table> <b> </i> <a href= <a href="http://[::1" > < & &#x110000; &#0; <!-- --> <![CDATA[
    ]]> <?php <script> </script> <style> <title> </title> <textarea> <svg> <math> <select> <template> <frameset> <plaintext> <br/> ' "
    <base href="//:"> <meta charset=utf-16> <meta charset=shift_jis> <html lang=x> <body> </body> <img src=" """.split(),
    b"\x00",
    b"\xff\xfe",
    b"\xc3",
    b"\xed\xa0\x80",
    b"\xf0\x9f\x98\x80",
    b"\x1b$B",
    b"\r",
    b"\x0c",
    b'<a href="" itemscope itemprop="',
)
_MUTATIONS = (_flip, _flip, _cut, _double, _move, _strew, _strew, _end)


def _page(body: str) -> bytes:
    return f"<!doctype html><html><head><title>Hostile</title></head><body>{body}</body></html>".encode()


def _repeated(part: Callable[[int], str], size_mb: int) -> bytes:
    """Numbered parts up to a size, then MARK."""
    pieces: list[bytes] = []
    size = number = 0
    while size < size_mb * 1_000_000:
        piece = part(number).encode()
        pieces.append(piece)
        size += len(piece)
        number += 1
    return b"".join(pieces) + f"<p>{MARK}".encode()


def _paragraph(number: int) -> str:
    return f"<p>Paragraph {number} tells of a river that flows past the harbour, of ferries, of the tide, and of the people who wait.</p>\n"


def _row(number: int) -> str:
    return f"<tr><td>{number}</td><td>Harbour</td><td>{number % 90 / 10} m</td></tr>\n"


def _link(number: int) -> str:
    return f"<li><a href='/notices/{number}'>Notice {number}</a>\n"
