"""What the worker threads do: one look-up or one exchange a task, and reading the document's links.

Workers share nothing but two queues and the HTTP client; all state belongs to the thread that runs the engine. The one
thing that they ask of it is which URLs it needs not hear of again.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from queue import SimpleQueue
from typing import TYPE_CHECKING

from trawl_core.errors import FetchError, TrawlError
from trawl_core.fetch.browser import Browser, Rendered
from trawl_core.fetch.client import HttpClient
from trawl_core.fetch.discovery import Found, discover, discover_rendered, is_scripted_page
from trawl_core.fetch.frontier import Leased
from trawl_core.fetch.guard import Resolver
from trawl_core.fetch.lists import with_next_pages
from trawl_core.fetch.resolver import ResolverWithin
from trawl_core.fetch.robots import MAX_KEPT_BYTES
from trawl_core.urls.normalize import host_and_port
from trawl_core.warc.exchange import Exchange

if TYPE_CHECKING:
    from trawl_core.fetch.origins import Origin

_UNREADABLE = (ValueError, RecursionError, MemoryError, LookupError, AttributeError, TypeError, TrawlError)


@dataclass(frozen=True, eq=False)
class Task:
    """`kind` is resolve, robots, page, media, render, sitemap or feed; `lease` is None for the first two.

    `fetched` is the result whose page is to be rendered.
    """

    origin: Origin
    kind: str
    url: str
    lease: Leased | None = None
    headers: Mapping[str, str] | None = None
    fetched: Result | None = None


@dataclass(frozen=True, eq=False)
class Result:
    """`exchange` is None for a look-up, whose answer is `address`; `failure` is a fault of ours, not of the server.

    `is_scripted` asks for the page to be rendered; `rendered` is what came of that, None for a page that was not to be.
    """

    task: Task
    exchange: Exchange | None = None
    found: tuple[Found, ...] = ()
    unread: str | None = None
    address: str | None = None
    is_scripted: bool = False
    rendered: Rendered | None = None
    failure: BaseException | None = None


def work(
    tasks: SimpleQueue[Task | None], results: SimpleQueue[Result], client: HttpClient, resolver: Resolver, browser: Browser | None
) -> None:
    """Serve `tasks` until None comes. Every task gives exactly one result."""
    while (task := tasks.get()) is not None:
        try:
            results.put(_result(task, client, resolver, browser))
        except BaseException as failure:  # noqa: BLE001 - a lost result would hang the run; the engine raises it for the domain
            results.put(Result(task, failure=failure))


def _result(task: Task, client: HttpClient, resolver: Resolver, browser: Browser | None) -> Result:
    if task.kind == "resolve":
        return _resolve(task, resolver)
    if task.kind == "render":
        return _render(task, browser)
    return _fetch(task, client, browser)


def _resolve(task: Task, resolver: Resolver) -> Result:
    """The address by which the budget is kept: the first answer; the host's name when there is none (the fetch will tell why)."""
    host, port = host_and_port(task.url)
    try:
        answers = ResolverWithin(resolver, task.origin.night.site.timeout.total_s).resolve(host, port)
    except (OSError, UnicodeError, FetchError):
        answers = []
    return Result(task, address=str(answers[0][1]) if answers else host)


def _fetch(task: Task, client: HttpClient, browser: Browser | None) -> Result:
    site = task.origin.night.site
    most = min(site.max_response_bytes, MAX_KEPT_BYTES) if task.kind == "robots" else None
    exchange = client.fetch(task.url, site, headers=task.headers or {}, max_bytes=most)
    if task.kind == "robots" or exchange.status is None:
        return Result(task, exchange)
    # The digests are wanted by the archive; here they are reckoned beside the other workers.
    _ = exchange.payload_digest, exchange.payload_sha256
    try:
        night = task.origin.night
        found = discover(exchange, task.kind, site, night.known_links, night.known_media)
        found = with_next_pages(found, exchange, task.kind, site)
        is_scripted = browser is not None and site.browser != "off" and task.kind == "page" and is_scripted_page(exchange, site)
    except _UNREADABLE as error:
        return Result(task, exchange, unread=_unread(error))
    if is_scripted and browser is not None and browser.missing is not None:
        return Result(task, exchange, found, rendered=Rendered(None, browser.missing))
    return Result(task, exchange, found, is_scripted=is_scripted)


def _render(task: Task, browser: Browser | None) -> Result:
    fetched = task.fetched
    assert fetched is not None
    assert fetched.exchange is not None
    assert browser is not None
    night = task.origin.night
    rendered = browser.render(fetched.exchange, night.site, task.origin.address)
    found, unread = fetched.found, fetched.unread
    try:
        found += discover_rendered(rendered, task.url, night.site, night.known_media)
        found = with_next_pages(found, fetched.exchange, fetched.task.kind, night.site, rendered.html)
    except _UNREADABLE as error:
        unread = _unread(error)
    return replace(fetched, task=task, found=found, unread=unread, is_scripted=False, rendered=rendered)


def _unread(error: Exception) -> str:
    return f"its links could not be read: {type(error).__name__}: {error}"
