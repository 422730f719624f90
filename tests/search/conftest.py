"""A lake whose pages a test writes down, one night at a time."""

import uuid
from datetime import UTC, date, datetime, time, timedelta

import pytest

from trawl_core.lake import Lake, Partition, tables
from trawl_core.search.index import build_index
from trawl_core.search.stage import embed_chunks

NIGHT_0 = date(2026, 11, 29)
NIGHT_1 = date(2026, 11, 30)


class Library:
    """`crawl` commits captures and pages of a night, `index` runs chunks and the index over all that was crawled."""

    def __init__(self, root):
        self.lake = Lake(root / "lake")
        self.work = root / "work"
        self.partitions = []

    def crawl(self, crawl_date, domain, pages):
        """`pages`: url → text, or a mapping of columns of pages (status, text, headings, title, …)."""
        captures, rows = [], []
        for second, (url, content) in enumerate(sorted(pages.items())):
            given = content if isinstance(content, dict) else {"text": content}
            status = given.get("fetch_status", 200)
            moment = datetime.combine(crawl_date, time(2), UTC) + timedelta(seconds=second)
            capture_id = str(uuid.uuid5(uuid.NAMESPACE_URL, f"{crawl_date} {domain} {url}"))
            refers = {"refers_to_date": given.pop("refers_to_date")} if "refers_to_date" in given else {}
            captures.append(
                {"url": url, "capture_id": capture_id, "fetch_time": moment, "fetch_status": status, "outcome": "ok", "kind": "page"}
                | refers
            )
            if status < 300 or status == 304 or status >= 400:
                rows.append(
                    {"url": url, "capture_id": capture_id, "body_capture_id": capture_id, "fetch_time": moment, "fetch_status": status}
                    | {"title": url.rsplit("/", 1)[-1], "page_type": "html", "headings": [], "extract_status": "ok"}
                    | given
                )
        partition = Partition(crawl_date, domain)
        tables.commit(self.lake, "captures", partition, captures)
        tables.commit(self.lake, "pages", partition, rows)
        self.partitions.append(partition)

    def chunk(self):
        return [embed_chunks(self.lake, partition, work=self.work) for partition in self.partitions]

    def index(self, crawl_date=NIGHT_0):
        self.chunk()
        return build_index(self.lake, crawl_date)

    def chunks(self, crawl_date=NIGHT_0, domain="docs.test"):
        return tables.read(self.lake, "chunks", Partition(crawl_date, domain)).to_pylist()


@pytest.fixture
def library(tmp_path):
    return Library(tmp_path)


POOL = "A connection pool keeps sockets open between requests, so that the next request does not pay for a handshake."
RETRY = "A failed delivery is tried again after a growing pause; after five attempts the message goes to the dead letter queue."
BREAD = "Knead the dough for ten minutes, let it rest overnight, and bake the loaf until its crust is dark brown."
