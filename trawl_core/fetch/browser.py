"""Pages that scripts build, rendered by a real browser: one Chromium a run, one context a page, one thread that drives it.

The browser is given the archived answer as the page's own bytes, so that what it renders is that answer; what the page's scripts
ask for goes through a BrowserProxy. Only reading requests (GET, HEAD, OPTIONS) leave, and no pictures, films or fonts.
"""

from __future__ import annotations

import importlib
import os
import shutil
import signal
import threading
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any

from trawl_core.clock import Clock
from trawl_core.fetch.address_slots import ConnectionSlots
from trawl_core.fetch.browser_proxy import BrowserProxy
from trawl_core.fetch.guard import Resolver
from trawl_core.sites import Site
from trawl_core.urls.normalize import normalize_url
from trawl_core.warc.exchange import Exchange

if TYPE_CHECKING:
    from playwright.sync_api import Browser as PlaywrightBrowser
    from playwright.sync_api import Page, Route

NAMES = ("chromium", "chromium-browser", "google-chrome")
ARGS = (
    # No name is looked up by the browser, nothing goes over UDP, and a page has only the proxy of its context.
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
    "--force-webrtc-ip-handling-policy=disable_non_proxied_udp",
    "--webrtc-ip-handling-policy=disable_non_proxied_udp",
    "--disable-quic",
    # The proxy's guard decides what may be asked, by the site's own network rules.
    "--disable-features=LocalNetworkAccessChecks,BlockInsecurePrivateNetworkRequests,PrivateNetworkAccessSendPreflights",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
    "--mute-audio",
)
# Nothing listens there: what belongs to no page goes nowhere.
NOWHERE = "http://127.0.0.1:9"
IDLE_S = 5.0
KILL_AFTER_S = 2.0
CLOSE_S = 5.0
_READING = ("GET", "HEAD", "OPTIONS")
_NOT_LOADED = ("image", "media", "font")
_OF_THE_WIRE = ("content-encoding", "content-length", "transfer-encoding", "connection", "keep-alive", "trailer", "upgrade")


@dataclass(frozen=True)
class Rendered:
    """`html` is the DOM after the scripts ran, as UTF-8; None with the reason in `error`. `led_to` holds URLs to which scripts
    wanted to move on, `refused` the requests that the guard turned away."""

    html: bytes | None
    error: str | None = None
    led_to: tuple[str, ...] = ()
    refused: tuple[str, ...] = ()
    received_bytes: int = 0


@dataclass(eq=False)
class _Job:
    exchange: Exchange
    site: Site
    address: str | None
    done: threading.Event
    rendered: Rendered | None = None
    failure: BaseException | None = None


def find_chromium(environment: Mapping[str, str] = os.environ) -> str | None:
    """Path of the browser: TRAWL_CHROMIUM, else the first on PATH; None when there is none."""
    named = environment.get("TRAWL_CHROMIUM")
    return shutil.which(named) if named else next((path for name in NAMES if (path := shutil.which(name))), None)


def why_missing(executable: str | None) -> str | None:
    """What keeps pages from being rendered here; None when nothing does."""
    try:
        importlib.import_module("playwright.sync_api")
    except ImportError:
        return "the extra trawl[browser] is not installed (pip install 'trawl[browser]')"
    if executable is None:
        return "no Chromium was found on PATH; install one or set TRAWL_CHROMIUM to its path"
    return None


class Browser:
    """Renders for all sites of a run; `render` may be called from several threads, pages take turns.

    `missing` says why no page can be rendered, None while pages can. Chromium starts with the first page.
    """

    def __init__(
        self, *, user_agent: str, resolver: Resolver, clock: Clock, slots: ConnectionSlots | None = None, executable: str | None = None
    ) -> None:
        """`slots` bound the connections of pages to an address; None for no bound."""
        self._executable = executable or find_chromium()
        self.missing = why_missing(self._executable)
        self._user_agent = user_agent
        self._resolver = resolver
        self._clock = clock
        self._slots = slots
        self._jobs: SimpleQueue[_Job | None] = SimpleQueue()
        self._thread: threading.Thread | None = None
        self._lock = threading.Lock()

    def render(self, exchange: Exchange, site: Site, address: str | None = None) -> Rendered:
        """The DOM of an answer with an HTML document; what goes wrong is in its `error`.

        `address` is the one of which the caller holds a slot meanwhile.
        """
        if self.missing is not None:
            return Rendered(None, self.missing)
        job = _Job(exchange, site, address, threading.Event())
        with self._lock:
            if self._thread is None:
                self._thread = threading.Thread(target=self._drive, name="trawl-browser", daemon=True)
                self._thread.start()
        self._jobs.put(job)
        job.done.wait()
        if job.failure is not None:
            raise job.failure
        assert job.rendered is not None
        return job.rendered

    def close(self) -> None:
        """End the browser; a page under way (the run was broken off) is not waited for, its thread ends with the process."""
        if self._thread is not None:
            self._jobs.put(None)
            self._thread.join(CLOSE_S)

    def _drive(self) -> None:
        """The thread that Playwright lives in."""
        from playwright.sync_api import Error, sync_playwright

        playwright = None
        browser: PlaywrightBrowser | None = None
        try:
            while (job := self._jobs.get()) is not None:
                try:
                    if playwright is None:
                        playwright = sync_playwright().start()
                    if browser is None or not browser.is_connected():
                        browser = self._launch(playwright)
                    job.rendered = self._render(browser, job)
                except (Error, OSError) as error:
                    job.rendered = Rendered(None, f"the browser could not be used: {_first_line(error)}")
                except BaseException as failure:  # noqa: BLE001 - raised again where the page is waited for
                    job.failure = failure
                job.done.set()
        finally:
            with suppress(Error):
                if browser is not None:
                    browser.close()
            if playwright is not None:
                playwright.stop()

    def _launch(self, playwright: Any) -> PlaywrightBrowser:
        # Chromium's sandbox refuses to work for root.
        return playwright.chromium.launch(
            executable_path=self._executable,
            args=list(ARGS),
            proxy={"server": NOWHERE, "bypass": "<-loopback>"},
            chromium_sandbox=os.geteuid() != 0,
            handle_sigint=False,
            handle_sigterm=False,
            handle_sighup=False,
        )

    def _render(self, browser: PlaywrightBrowser, job: _Job) -> Rendered:
        from playwright.sync_api import Error

        total_s = job.site.timeout.total_s
        process = next(
            entry["id"]
            for entry in browser.new_browser_cdp_session().send("SystemInfo.getProcessInfo")["processInfo"]
            if entry["type"] == "browser"
        )
        killer = threading.Timer(total_s + KILL_AFTER_S, _kill, (process,))
        killer.daemon = True
        visit = _Visit(job.exchange, job.site)
        error: str | None = None
        html: bytes | None = None
        killer.start()
        with BrowserProxy(job.site, self._resolver, self._slots, job.address) as proxy:
            try:
                context = browser.new_context(
                    user_agent=self._user_agent,
                    proxy={"server": proxy.url, "bypass": "<-loopback>"},
                    service_workers="block",
                    accept_downloads=False,
                )
                try:
                    context.add_init_script("delete window.RTCPeerConnection; delete window.webkitRTCPeerConnection;")
                    context.route("**/*", visit.route)
                    html = self._watch(context.new_page(), job.exchange.url, total_s)
                finally:
                    context.close()
            except Error as failure:
                error = f"rendering failed: {_first_line(failure)}"
            finally:
                killer.cancel()
                killer.join()
        if html is None and not browser.is_connected():
            error = f"rendering took longer than {total_s:g} s (timeout.total_s); the browser was ended"
        if html is not None and len(html) > job.site.max_decoded_bytes:
            html, error = None, f"the rendered page has {len(html)} bytes, more than max_decoded_bytes"
        return Rendered(html, error, tuple(visit.led_to), tuple(proxy.refused), proxy.received_bytes)

    def _watch(self, page: Page, url: str, total_s: float) -> bytes:
        """The DOM once the network has been quiet, or after IDLE_S: a page that asks for ever is taken as it is then."""
        from playwright.sync_api import TimeoutError as PlaywrightTimeout

        ends_at = self._clock.monotonic() + total_s
        page.on("dialog", lambda dialog: dialog.dismiss())
        page.goto(url, wait_until="commit", timeout=total_s * 1000)
        # A page that wants to move on never gets as far as domcontentloaded.
        for state in ("domcontentloaded", "networkidle"):
            left_s = max(0.1, min(IDLE_S, ends_at - self._clock.monotonic()))
            with suppress(PlaywrightTimeout):
                page.wait_for_load_state(state, timeout=left_s * 1000)
        return page.content().encode("utf-8", "replace")


class _Visit:
    """Decides over each request of one page."""

    def __init__(self, exchange: Exchange, site: Site) -> None:
        self.led_to: list[str] = []
        self._exchange = exchange
        self._site = site
        self._given = False

    def route(self, route: Route) -> None:
        request = route.request
        if request.is_navigation_request() and request.frame.parent_frame is None:
            if not self._given and request.method == "GET":
                self._given = True
                self._give_archived(route)
                return
            # Another page: the crawl may go there by its own rules.
            target = normalize_url(request.url)
            if target and request.method == "GET" and target != self._exchange.url:
                self.led_to.append(target)
            # 204 leaves the page that is there as it is (an abort would also end its loading).
            route.fulfill(status=204)
        elif request.method in _READING and request.resource_type not in _NOT_LOADED and request.url.startswith(("http:", "https:")):
            route.continue_()
        else:
            route.abort("blockedbyclient")

    def _give_archived(self, route: Route) -> None:
        document = self._exchange.document_start(self._site.max_decoded_bytes)
        headers = {name: value for name, value in self._exchange.headers if name.lower() not in _OF_THE_WIRE}
        route.fulfill(status=self._exchange.status, headers=headers, body=document)


def _kill(process: int) -> None:
    """Playwright starts Chromium as the leader of a process group of its own."""
    with suppress(ProcessLookupError):
        os.killpg(process, signal.SIGKILL) if os.getpgid(process) == process else os.kill(process, signal.SIGKILL)


def _first_line(error: BaseException) -> str:
    return str(error).strip().partition("\n")[0] or type(error).__name__
