"""Warning checks: what a person should look at although everything was built. Each returns one line a problem.

They stop nothing; a failed one is yellow in the UI until the asset is built again without the problem.
"""

from __future__ import annotations

from collections import Counter
from datetime import date, timedelta

import polars as pl
import pyarrow.compute as pc

from trawl_assets.checks import Check
from trawl_core.lake import Lake, Partition, tables
from trawl_core.lake.corpus import corpus_asof
from trawl_core.recrawl.health import AGE_GRACE_DAYS, WORST_ERROR_RATE
from trawl_core.recrawl.stage import latest_history
from trawl_core.search.manifest import read_manifest
from trawl_core.sites import Site, SitesConfig

LARGEST_DROP = 0.2
FEWEST_PAGES_LOST = 5
LARGEST_CLUSTER = 0.2
FEWEST_MEMBERS = 5


def error_rate(lake: Lake, crawl_date: date) -> list[str]:
    """Domains of which more than half of the attempts failed."""
    return [
        f"{row['domain']}: {row['error_rate']:.0%} of the attempts failed ({_kinds(row['errors_by_kind'])})"
        for row in _totals(lake, crawl_date)
        if row["error_rate"] is not None and row["error_rate"] > WORST_ERROR_RATE
    ]


def oldest_page(lake: Lake, crawl_date: date, config: SitesConfig) -> list[str]:
    """Domains with a page that was not fetched for longer than max_age_days and two days of grace."""
    limits = {site.domain: site.recrawl.max_age_days for site in config.sites}
    usual = Site.model_fields["recrawl"].default.max_age_days
    problems = []
    for row in _totals(lake, crawl_date):
        limit, age = limits.get(row["domain"], usual), row["oldest_page_days"]
        if age is not None and age > limit + AGE_GRACE_DAYS:
            problems.append(
                f"{row['domain']}: a page was last fetched {age:.1f} days ago, max_age_days is {limit:g}; "
                "raise budget.pages or recrawl.max_age_days"
            )
    return problems


def page_count(lake: Lake, partition: Partition) -> list[str]:
    """A domain that lost more than a fifth of its pages since its previous night."""
    before = _active_pages(latest_history(lake, partition.domain, partition.crawl_date))
    now = _active_pages(latest_history(lake, partition.domain, partition.crawl_date + timedelta(days=1)))
    if before - now < FEWEST_PAGES_LOST or now >= before * (1 - LARGEST_DROP):
        return []
    return [f"{partition.domain}: {now} pages are left of {before} on its previous night"]


def cluster_share(lake: Lake, crawl_date: date) -> list[str]:
    """Clusters that hold more than a fifth of a domain's pages: often one error page under many addresses."""
    rows = tables.read(lake, "duplicates", Partition(crawl_date), ["domain", "cluster_id", "representative_url"]).to_pylist()
    members = Counter((row["domain"], row["cluster_id"], row["representative_url"]) for row in rows)
    large = {cluster: count for cluster, count in members.items() if count >= FEWEST_MEMBERS}
    sizes = {domain: corpus_asof(lake, crawl_date, domain).height for domain in {cluster[0] for cluster in large}}
    return [
        f"{domain}: {count} of {sizes[domain]} pages are copies of {url}"
        for (domain, _, url), count in sorted(large.items())
        if count > sizes[domain] * LARGEST_CLUSTER
    ]


def index_holds_chunks(lake: Lake, crawl_date: date) -> list[str]:
    """An index with fewer chunks than the corpus has, or a corpus of which chunks were never made."""
    corpus = corpus_asof(lake, crawl_date)
    expected, missing = 0, []
    for (day, domain), rows in sorted(corpus.group_by("crawl_date", "domain")):
        partition = Partition(day, domain)
        if not tables.has(lake, "chunks", partition):
            missing.append(f"{domain}: chunks of {day} were not built; materialize them, then faiss_index again")
            continue
        captures = tables.read(lake, "chunks", partition, ["capture_id"]).column("capture_id")
        expected += pc.sum(pc.is_in(captures, value_set=rows["capture_id"].to_arrow().cast("string"))).as_py() or 0
    found = read_manifest(lake, crawl_date).chunks
    if found < expected:
        missing.append(f"the index of {crawl_date} holds {found} of {expected} chunks; materialize faiss_index again")
    return missing


def _totals(lake: Lake, crawl_date: date) -> list[dict]:
    rows = tables.read(lake, "crawl_report", Partition(crawl_date)).to_pylist()
    return [row for row in rows if row["origin"] is None]


def _kinds(errors_by_kind: list[tuple[str, int]] | None) -> str:
    return ", ".join(f"{count} × {kind}" for kind, count in sorted(errors_by_kind or [], key=lambda pair: (-pair[1], pair[0])))


def _active_pages(history: pl.DataFrame) -> int:
    return history.filter((pl.col("state") == "active") & pl.col("last_ok_at").is_not_null()).height


ERROR_RATE = Check(
    "error_rate",
    f"At most {WORST_ERROR_RATE:.0%} of a domain's attempts failed.",
    lambda trawl, partition: error_rate(trawl.lake, partition.crawl_date),
)
OLDEST_PAGE = Check(
    "oldest_page",
    f"No page is older than its site's max_age_days and {AGE_GRACE_DAYS} days.",
    lambda trawl, partition: oldest_page(trawl.lake, partition.crawl_date, trawl.config),
)
PAGE_COUNT = Check(
    "page_count",
    f"The domain did not lose more than {LARGEST_DROP:.0%} of its pages since its previous night.",
    lambda trawl, partition: page_count(trawl.lake, partition),
)
CLUSTER_SHARE = Check(
    "cluster_share",
    f"No cluster holds more than {LARGEST_CLUSTER:.0%} of a domain's pages.",
    lambda trawl, partition: cluster_share(trawl.lake, partition.crawl_date),
)
INDEX_HOLDS_CHUNKS = Check(
    "index_holds_chunks",
    "The index holds every chunk of the corpus as of its date.",
    lambda trawl, partition: index_holds_chunks(trawl.lake, partition.crawl_date),
)
