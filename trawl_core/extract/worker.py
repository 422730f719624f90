"""The process that extracts: takes jobs from a connection and answers each with its page.

Started as a program of its own, not by fork (the parent has threads) and not by multiprocessing (which imports the parent's
main module again). It ends when its parent does, since then the connection ends.
"""

from __future__ import annotations

import logging
import os
import resource
import signal
from contextlib import suppress
from dataclasses import dataclass, replace
from multiprocessing.connection import Connection
from typing import Any

from trawl_core.clock import SystemClock
from trawl_core.errors import TrawlError
from trawl_core.extract.bodies import Body, read_body
from trawl_core.extract.content.choice import Profile
from trawl_core.extract.faults import LIBRARY_FAULTS, describe_fault
from trawl_core.extract.gate import Before
from trawl_core.extract.long_html import is_long_html
from trawl_core.extract.page import Page, failed_page, version_of
from trawl_core.extract.reread import State, reread_html
from trawl_core.extract.router import HTML_TYPES, extract_document
from trawl_core.lake import Lake
from trawl_core.warc.sniff import sniff_mime

READY = "ready"
MEMORY_LIMIT_BYTES = 850_000_000
"""Of data; with the libraries' code that is less than 1 GB of resident memory."""
OUT_OF_MEMORY = 77
"""Exit status of a worker whose page needed more."""


@dataclass(frozen=True)
class Job:
    """One body to extract. `capture` has the columns that `payload_of_capture` needs, and `url`; `key` comes back with the answer."""

    key: str
    capture: dict[str, Any]
    max_decoded_bytes: int
    profile: Profile = "quality"
    before: Before | None = None
    """What the previous capture of the URL showed; without it the body is read in any case."""
    same_lines: bool | None = None
    """Whether it shows the same lines now; None when that is to be found out."""
    json_pointers: tuple[str, ...] = ()


@dataclass(frozen=True)
class Answer:
    """`page` is None when the capture turned out to have an empty body."""

    key: str
    page: Page | None
    state: State = "read"


def extract_job(lake: Lake, job: Job) -> Answer:
    """Read and extract one body. What goes wrong with it is in the page; never raises for a bad body or record."""
    clock = SystemClock()
    started = clock.monotonic()
    try:
        body = read_body(lake, job.capture, job.max_decoded_bytes)
    except TrawlError as error:
        return Answer(job.key, failed_page(b"", "application/octet-stream", "other", "error", str(error)))
    if body is None:
        return Answer(job.key, None)
    mime = sniff_mime(body.document, body.content_type)
    state: State = "read"
    try:
        page, state = _read(body, job, mime)
    except LIBRARY_FAULTS as error:
        page = failed_page(body.document, mime, "other", "error", f"the extractor failed: {describe_fault(error)}")
    if body.fault and not page.text:
        page = replace(page, extract_status="broken", extract_error=f"the body is not whole: {body.fault}")
    took_ms = round((clock.monotonic() - started) * 1000, 3)
    return Answer(job.key, replace(page, extractor_version=version_of(job.profile, job.json_pointers), extract_ms=took_ms), state)


def _read(body: Body, job: Job, mime: str) -> tuple[Page, State]:
    url = job.capture["url"]
    if job.before is not None and body.fault is None and mime in HTML_TYPES and not is_long_html(body.document):
        return reread_html(body.document, url, body.content_type, job.before, decided=job.same_lines, profile=job.profile)
    page = extract_document(body.document, url, body.content_type, mime_detected=mime, profile=job.profile, json_pointers=job.json_pointers)
    return page, "read"


def serve(connection: Connection) -> None:
    lakes: dict[str, Lake] = {}
    with suppress(EOFError, BrokenPipeError, ConnectionResetError):  # the parent ended, or was killed
        connection.send(READY)
        while True:
            lake_url, job = connection.recv()
            if lake_url not in lakes:
                lakes[lake_url] = Lake(lake_url)
            try:
                connection.send(extract_job(lakes[lake_url], job))
            except MemoryError:
                os._exit(OUT_OF_MEMORY)  # nothing is freed or flushed any more: what is left of the libraries' state is not to be trusted


def main(handle: int) -> None:
    """Entry of the process: `handle` is the inherited file descriptor of the connection."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent decides what an interrupt means
    logging.disable(logging.CRITICAL)  # what libraries say of a page is in its row, where we let it in
    _, hard = resource.getrlimit(resource.RLIMIT_DATA)
    limit = MEMORY_LIMIT_BYTES if hard == resource.RLIM_INFINITY else min(MEMORY_LIMIT_BYTES, hard)
    resource.setrlimit(resource.RLIMIT_DATA, (limit, hard))
    with Connection(handle) as connection:
        serve(connection)
