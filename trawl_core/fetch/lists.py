"""Lists that go over several pages: where the next page is, as a schema of sites.yaml finds it (`follow_next`)."""

from __future__ import annotations

from trawl_core.extract.charset import charset_parameter, decode
from trawl_core.fetch.discovery import Found
from trawl_core.fetch.pieces import READ_BYTES
from trawl_core.sites import Site
from trawl_core.warc.exchange import Exchange

_HTML = ("text/html", "application/xhtml+xml")


def with_next_pages(
    found: tuple[Found, ...], exchange: Exchange, kind: str, site: Site, rendered: bytes | None = None
) -> tuple[Found, ...]:
    """What a document names, with the next pages of the lists that it is a page of before the rest, each URL once.

    `rendered` is the DOM that a browser made of it, in UTF-8, which then is read instead.
    """
    if kind != "page" or not any(schema.pagination for schema in site.extraction) or exchange.mime not in _HTML:
        return found
    # Only the few sites that want it pay for the selectors' libraries.
    from trawl_core.extract.pagination import next_pages, paginating

    schemas = paginating(site.extraction, exchange.url)
    if not schemas or exchange.status is None or not 200 <= exchange.status < 300 or not exchange.payload_length:
        return found
    if rendered is None:
        document = exchange.document_start(min(site.max_decoded_bytes, READ_BYTES))
        charset = charset_parameter(exchange.header("Content-Type"))
    else:
        document, charset = rendered, "utf-8"
    following = dict(next_pages(decode(document, charset).text, exchange.url, schemas))
    lists = (Found(target, most_pages=most, after=exchange.url) for target, most in following.items())
    return (*lists, *(one for one in found if one.url not in following))
