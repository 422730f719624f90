"""`trawl extract`: selector schemas tried on a page that is archived."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from datetime import date
from pathlib import Path
from typing import Any

import click
from selectolax.lexbor import LexborHTMLParser

from trawl_core.cli.options import date_option, json_option, open_home
from trawl_core.cli.output import print_json, print_rows
from trawl_core.errors import ConfigError, UsageError, explain_os_error
from trawl_core.extract.bodies import Body, read_body
from trawl_core.extract.charset import charset_parameter, decode
from trawl_core.extract.guards import defuse
from trawl_core.extract.items import Item
from trawl_core.extract.selectors import NOTHING_MATCHED, next_page
from trawl_core.extract.structured import HTML_TYPES, document_base, structured_items
from trawl_core.extract.typed_values import Mismatch
from trawl_core.home import Home
from trawl_core.lake import Lake
from trawl_core.sites import ExtractionSchema, load_sites, parse_schemas
from trawl_core.warc.show import MAX_DECODED_BYTES, find_captures
from trawl_core.warc.sniff import sniff_mime

_SHOWN_CHARS = 300


@click.command()
@click.argument("url")
@click.option("--schema", "schema_file", type=click.Path(path_type=Path), metavar="FILE", help="Try the schemas of this YAML file.")
@click.option("--all", "with_declared", is_flag=True, help="Also what the page itself declares: JSON-LD, Microdata, RDFa, OpenGraph.")
@date_option("Its newest capture of that crawl date; of all dates by default.")
@json_option
@click.pass_context
def extract(ctx: click.Context, url: str, schema_file: Path | None, with_declared: bool, crawl_date: date | None, as_json: bool) -> None:
    """Try selector schemas on the archived page URL: those of its site in sites.yaml, or those of FILE.

    Nothing is fetched and nothing is stored. Exit 1 when no schema finds anything.

    \b
    Example: trawl extract https://docs.example.org/
             trawl extract https://docs.example.org/product/7 --schema product.yaml --json
    """
    home, lake = open_home()
    capture, body = _archived_page(lake, url, crawl_date)
    schemas = _schemas_of_file(schema_file) if schema_file else _schemas_of_site(home, capture["domain"])
    applying = [schema for schema in schemas if re.search(schema.pattern, capture["url"])]
    text = decode(body.document, charset_parameter(body.content_type)).text
    items = structured_items(text, capture["url"], applying)
    following = _following(text, capture["url"], applying)
    shown = [item for item in items if with_declared or item.syntax == "selector"]
    if as_json:
        print_json([_as_json(item) for item in shown])
    else:
        for item in shown:
            _print_item(item)
        for schema, target in following:
            click.echo(f"{schema.page_type}: the next page is {target or 'none: follow_next matches nothing here'}")
    if not applying:
        place = str(schema_file) if schema_file else f"{capture['domain']} in sites.yaml"
        patterns = ", ".join(schema.pattern for schema in schemas) or "it has none"
        hint = "" if schema_file else " `--schema FILE` tries those of a file, `--all` shows what the page itself declares."
        click.echo(f"trawl: no schema of {place} has a pattern that is found in {capture['url']} ({patterns}).{hint}", err=True)
    matched = any(item.syntax == "selector" and NOTHING_MATCHED not in item.problems for item in items)
    ctx.exit(0 if matched or (with_declared and shown) else 1)


def _archived_page(lake: Lake, url: str, crawl_date: date | None) -> tuple[dict[str, Any], Body]:
    """The newest good capture with an HTML body, and that body. Raises UsageError when there is none, WarcError."""
    captures = [row for row in find_captures(lake, url, crawl_date) if row["warc_type"]]
    good = [row for row in captures if row["fetch_status"] in (200, 304, None)] or captures
    if not good:
        when = f" on {crawl_date}" if crawl_date else ""
        raise UsageError(f"{url} was never archived{when}. `trawl show URL` tells what is known of it.")
    body = read_body(lake, good[0], MAX_DECODED_BYTES)
    if body is None:
        raise UsageError(f"the capture of {url} of {good[0]['crawl_date']} has no body to extract from. `--date` takes another one.")
    mime = sniff_mime(body.document, body.content_type)
    if mime not in HTML_TYPES:
        raise UsageError(f"{url} is {mime}, not HTML: selectors need a page. `trawl show URL --text` shows what was extracted.")
    return good[0], body


def _schemas_of_file(path: Path) -> Sequence[ExtractionSchema]:
    try:
        return parse_schemas(path.read_text(encoding="utf-8"), str(path))
    except OSError as error:
        raise explain_os_error(error, "reading the schemas in", path) from error
    except UnicodeDecodeError as error:
        raise ConfigError(f"{path}: not UTF-8 text ({error.reason} at byte {error.start}).") from None


def _schemas_of_site(home: Home, domain: str) -> Sequence[ExtractionSchema]:
    return load_sites(home.sites_file).site(domain).extraction


def _following(text: str, url: str, schemas: Sequence[ExtractionSchema]) -> list[tuple[ExtractionSchema, str | None]]:
    tree = LexborHTMLParser(defuse(text)[0])
    found: list[tuple[ExtractionSchema, str | None]] = []
    for schema in schemas:
        if schema.pagination is not None:
            try:
                found.append((schema, next_page(tree, document_base(tree, url), schema)))
            except Mismatch as error:
                raise UsageError(f"follow_next of {schema.page_type}: {error}.") from None
    return found


def _as_json(item: Item) -> dict[str, Any]:
    return {
        "syntax": item.syntax,
        "type": item.type,
        "fields": item.fields,
        "problems": list(item.problems),
        "entity_type": item.entity.kind if item.entity else None,
        "entity": item.entity.fields if item.entity else None,
        "preferred": item.preferred,
    }


def _print_item(item: Item) -> None:
    fields = item.entity.fields if item.entity else item.fields or {}
    rows = [{"field": path, "value": _shortened(value)} for path, value in _leaves("", fields)]
    kind = f"{item.type} as {item.entity.kind}" if item.entity and item.entity.kind != item.type else item.type
    print_rows(rows, title=f"{kind or 'item'} ({item.syntax})", empty=f"{kind or 'item'} ({item.syntax}): no fields")
    for problem in item.problems:
        click.echo(f"problem: {problem}")


def _leaves(path: str, value: Any) -> Iterator[tuple[str, Any]]:
    """`offers[0].cost` and its value, for each value that is none of others."""
    if isinstance(value, dict) and value:
        for name, inner in value.items():
            yield from _leaves(f"{path}.{name}" if path else name, inner)
    elif isinstance(value, list) and value:
        for place, inner in enumerate(value):
            yield from _leaves(f"{path}[{place}]", inner)
    else:
        yield path, value


def _shortened(value: Any) -> str:
    text = "true" if value is True else "false" if value is False else "" if value in (None, [], {}) else str(value)
    return text if len(text) <= _SHOWN_CHARS else f"{text[:_SHOWN_CHARS]} … ({len(text)} characters)"
