import pytest

from trawl_core.demo.sites import HOSTS, build_site
from trawl_core.extract.html import extract_html
from trawl_core.extract.scripted import is_scripted

PROSE = "The ferry leaves at eight and comes back at noon, when the tide is high enough to land at the old stone pier. " * 4
SCRIPTED = {
    "app root": '<div id="root"></div><script src="/app.js"></script>',
    "app root with inline script": '<title>Shop</title><div id="app"> </div><script>start()</script>',
    "next": '<div id="__next"></div><script>self.next = 1</script>',
    "angular": "<app-root></app-root><script src=main.js></script>",
    "notice": "<body><noscript>You need to enable JavaScript to run this app.</noscript><p>Loading…<script>start()</script>",
    "nothing but a script file": "<!doctype html><script src=a.js></script>",
}
PLAIN = {
    "no script": "<p>Short.",
    "empty": "",
    "short page with a counter": "<h1>Opening hours</h1><p>Nine to five.<script src=/counter.js></script>",
    "prose beside an app root": f'<p>{PROSE}</p><div id="root"></div><script src=a.js></script>',
    "rendered on the server": f'<div id="__next"><main><p>{PROSE}</p></main></div><script src=a.js></script>',
    "short page rendered on the server": '<div id="__next"><p>Nine to five.</p></div><script src=a.js></script>',
    "notice beside prose": f"<noscript>Some parts need JavaScript.</noscript><p>{PROSE}</p><script src=a.js></script>",
    "a page about scripts": "<p>Write &lt;script&gt; and an element with the id root: &lt;div id=root&gt;.",
}


@pytest.mark.parametrize("body", SCRIPTED.values(), ids=SCRIPTED)
def test_pages_that_scripts_render(body):
    assert is_scripted(body.encode(), "utf-8")
    assert extract_html(body.encode(), "http://site.test/", "text/html; charset=utf-8").needs_browser


@pytest.mark.parametrize("body", PLAIN.values(), ids=PLAIN)
def test_pages_that_show_their_text_themselves(body):
    assert not is_scripted(body.encode(), "utf-8")
    assert not extract_html(body.encode(), "http://site.test/", "text/html; charset=utf-8").needs_browser


@pytest.mark.parametrize("name", HOSTS)
def test_no_page_of_the_demo_needs_a_browser(name):
    pages = {
        path: answer.body for path, answer in build_site(name, 0).answers.items() if answer.body.lstrip().startswith(b"<!doctype html")
    }
    assert len(pages) > 10
    assert [path for path, body in pages.items() if is_scripted(body, "utf-8")] == []


def test_the_charset_is_heeded():
    assert is_scripted('<div id="app"></div><script src=a.js></script>'.encode("utf-16"), "utf-16")
