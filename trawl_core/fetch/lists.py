"""Lists that go over several pages: where the next page is, as a schema of sites.yaml finds it (`follow_next`)."""

from __future__ import annotations

from trawl_core.extract.charset import charset_parameter, decode
from trawl_core.fetch.discovery import Found
from trawl_core.fetch.pieces import READ_BYTES
from trawl_core.sites import Site
from trawl_core.warc.exchange import Exchange

_HTML = ("text/html", "application/xhtml+xml")


def with_next_pages(found: tuple[Found, ...], exchange: Exchange, kind: str, site: Site) -> tuple[Found, ...]:
    """What a document names, with the next pages of the lists that it is a page of before the rest, each URL once."""
    if (
        kind != "page"
        or not any(schema.pagination for schema in site.extraction)
        or exchange.mime not in _HTML
        or exchange.status is None
        or not 200 <= exchange.status < 300
    ):
        return found
    # Only the few sites that want it pay for the selectors' libraries.
    from trawl_core.extract.pagination import next_pages, paginating

    schemas = paginating(site.extraction, exchange.url)
    if not schemas or not exchange.payload_length:
        return found
    document = exchange.document_start(min(site.max_decoded_bytes, READ_BYTES))
    text = decode(document, charset_parameter(exchange.header("Content-Type"))).text
    following = {target: most for target, most in next_pages(text, exchange.url, schemas)}
    lists = (Found(target, most_pages=most, after=exchange.url) for target, most in following.items())
    return (*lists, *(one for one in found if one.url not in following))
