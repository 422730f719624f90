from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trawl_core.fetch.script_redirect import script_redirect


@pytest.mark.parametrize(
    "script",
    [
        "location = '/there'",
        'window.location.href = "/there";',
        "document.location='/there';",
        'location.replace("/there")',
        "window . location . assign( '/there' );",
        "if (top != self) { top.location = '/there' }",
        "setTimeout(function(){ window.location.href='/there'; }, 0)",
        "location.href='\\/there'",
        "<!--\nlocation = '/there'\n//-->",
        "var here = location.pathname;\nlocation.replace('/there')",
    ],
)
def test_a_page_that_only_moves_on(script: str) -> None:
    page = f"<html><head><title>Moved</title><script>{script}</script></head><body><p>Please wait</p></body></html>"
    assert script_redirect(page.encode()) == "/there"


@pytest.mark.parametrize(
    "page",
    [
        "<script>location = '/there'</script>" + "<p>a real page with its own words</p>" * 10,
        "<script>if (location == '/there') go()</script>",
        "<script>// location = '/there'\n/* location = '/x' */</script>",
        "<script>location = '/there?' + id</script>",
        "<script>location = `/there/${id}`</script>",
        "<script>location = '#top'</script>",
        "<script>my.location = '/there'; allocation = '/there'; data.location.replace('/x')</script>",
        "<script src=/x.js>location = '/there'</script>",
        "<a onclick=\"location='/there'\">go</a>",
        "<p>location = '/there'</p>",
        "",
    ],
)
def test_other_pages_lead_nowhere(page: str) -> None:
    assert script_redirect(page.encode()) is None


def test_a_large_page_is_not_searched() -> None:
    assert script_redirect(b"<script>location = '/there'</script>" + b" " * 20_000) is None


@given(st.binary(max_size=200))
def test_any_bytes_have_a_verdict(rest: bytes) -> None:
    found = script_redirect(b"<script>location" + rest)
    assert found is None or found
