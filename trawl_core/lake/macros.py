"""Table macros of the catalog, over its views."""

from __future__ import annotations

from trawl_core.lake.corpus import LEFT

_LEFT = ", ".join(map(str, LEFT))

MACROS: dict[str, str] = {
    # The SQL twin of trawl_core.lake.corpus.corpus_asof.
    "corpus_asof(d)": f"""
WITH newest AS (
  SELECT domain, url, arg_max(capture_id, (fetch_time, capture_id)) AS capture_id, min(fetch_time) AS first_seen
  FROM pages WHERE crawl_date <= d::DATE AND fetch_status IN (200, 304) GROUP BY domain, url
), decisive AS (
  SELECT domain, url, arg_max(fetch_status, (fetch_time, capture_id)) AS fetch_status
  FROM captures WHERE crawl_date <= d::DATE AND fetch_status IN (200, 304, {_LEFT}) GROUP BY domain, url
), gone AS (
  SELECT domain, url FROM decisive WHERE fetch_status IN ({_LEFT})
)
SELECT pages.*, newest.first_seen
FROM newest JOIN pages USING (domain, url, capture_id) ANTI JOIN gone USING (domain, url)
ORDER BY domain, url""",
    "history_of(u)": """
SELECT captures.crawl_date, captures.domain, captures.fetch_time, captures.outcome, captures.fetch_status, captures.capture_id,
  captures.content_digest, pages.title, pages.text_sha256, pages.text_words, changes.event, changes.severity
FROM captures LEFT JOIN pages USING (crawl_date, domain, capture_id) LEFT JOIN changes USING (crawl_date, domain, capture_id)
WHERE captures.url = u
ORDER BY captures.fetch_time, captures.capture_id""",
}
