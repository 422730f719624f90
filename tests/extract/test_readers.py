"""Documents that end a process or stop an extractor of others, and what we give it instead."""

from __future__ import annotations

import pytest

from trawl_core.extract.content import readers
from trawl_core.extract.content.readers import lxml_tree, resiliparse_text

# Found among mutated pages and cut down: resiliparse's own parser reads freed memory on it.
LEFT_OPEN = (
    '<!doctype><html g=n><t h=8><e f=/><title>r</title>\n<m o>i<e "><m e=""n "><k r=""f="">\n<t p=""t=Z><t h=""o="">\n<f/t n/">}</”>\n'
    '<style>}</style><script>;</script>><n><i><a f=/>e</a>><v>\n<n><e i e=h><h p="">t<p> <b>f<p> <b>y</b> <a x=p>r<!>\n<h2>s</h2><table><th>'
    "0<d>0<d><l><i>m<i>><r><h>0<d>0<d><l><i>m<i>><r><h>0<d>0<d><l><i>m<i>g<tr><p>0<d>1<td><l><i>m<i>g<r><h>0<d>1<d><l><i>m<i>><r><h>0<d>1"
    "<d><l><i>m<i>><r><h>0<d>2<d><l><i>m<i>><r><h>0<d>2<d><u/y>><i>m<i>f</table><p><e>r<v n r 3\n</e><b>><s><option>n<math>e<option selected>"
)


@pytest.fixture
def given(monkeypatch):
    """What resiliparse is asked to read."""
    asked = []
    monkeypatch.setattr(readers, "extract_plain_text", lambda source, **options: asked.append(source) or "text")
    return asked


def test_a_document_that_leaves_formatting_open_is_read_from_its_tree(given):
    resiliparse_text(LEFT_OPEN)
    resiliparse_text("<p>a <B>b<p>c")
    assert given[0].count("<i>") == given[0].count("</i>")
    assert given[1] == "<html><head></head><body><p>a <b>b</b></p><p><b>c</b></p></body></html>"


@pytest.mark.parametrize("source", ["<p>a <b>b</b> <a href=x>c</a></p>", "<p><img><input><area>x</a>", "<abbr>x<base>", ""])
def test_others_are_read_as_they_are(given, source):
    assert resiliparse_text(source) == "text"
    assert given == [source]


def test_a_document_of_very_many_tags_has_no_second_tree():
    assert lxml_tree("<p>x" * 50_000) is None
    assert lxml_tree("<p>x" * 500) is not None
