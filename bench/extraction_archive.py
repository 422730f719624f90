"""The pages that bench.extract extracts, as a crawl would have archived them: one partition of a lake, WARC and captures."""

from __future__ import annotations

import uuid
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from pathlib import Path

from bench.extraction_truth import Truth
from trawl_core.clock import SystemClock
from trawl_core.lake import Lake, Partition, tables
from trawl_core.sites import Site
from trawl_core.urls.normalize import normalize_url
from trawl_core.warc.captures import capture_row
from trawl_core.warc.exchange import Exchange
from trawl_core.warc.writer import WarcWriter

DOMAIN = "pages.example.org"
_AGENT = "TrawlBot/1.0 (+https://example.org/bot; crawl@example.org)"
_START = datetime(2026, 11, 30, 2, tzinfo=UTC)
PARTITION = Partition(_START.date(), DOMAIN)
_HEADERS = (("Server", "nginx"), ("Content-Type", "text/html"))


def site(profile: str) -> Site:
    return Site.model_validate({"domain": DOMAIN, "seeds": [f"https://{DOMAIN}/"], "extraction_profile": profile})


def archive(pages: Iterable[Truth], folder: Path) -> int:
    """Write each page's bytes as the answer to its URL; how many there were. `folder` is the lake."""
    lake = Lake(folder)
    rows = []
    with WarcWriter(
        lake, PARTITION, software="trawl", user_agent=_AGENT, config_hash="0" * 16, clock=SystemClock(), work=folder.parent / "work"
    ) as writer:
        for number, page in enumerate(pages):
            exchange = _exchange(normalize_url(page.url) or f"https://{DOMAIN}/{page.name}", page.body, number)
            capture_id = str(uuid.uuid5(uuid.NAMESPACE_URL, f"{number} {exchange.url}"))
            written = writer.write(exchange, capture_id)
            rows.append(
                capture_row(
                    exchange,
                    capture_id=capture_id,
                    partition=PARTITION,
                    written=written,
                    revisit=None,
                    kind="page",
                    depth=0,
                    is_seed=False,
                    attempt=1,
                )
            )
    tables.commit(lake, "captures", PARTITION, rows)
    return len(rows)


def _exchange(url: str, body: bytes, number: int) -> Exchange:
    headers = (*_HEADERS, ("Content-Length", str(len(body))))
    head = "\r\n".join(["HTTP/1.1 200 OK", *(f"{name}: {value}" for name, value in headers), "", ""]).encode()
    return Exchange(
        url=url,
        started_at=_START + timedelta(milliseconds=37 * number),
        request_bytes=f"GET / HTTP/1.1\r\nUser-Agent: {_AGENT}\r\n\r\n".encode(),
        response_bytes=head + body,
        head_length=len(head),
        payload=body,
        status=200,
        reason="OK",
        headers=headers,
        outcome="ok",
    )
