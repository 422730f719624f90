"""The two crawls that bench.fetch compares, each run in a process of its own: of the same site, from the same page.

Both follow every link of every page, obey robots.txt, keep at most 16 requests under way and wait for nothing between them.
"""

from __future__ import annotations

from pathlib import Path

CONCURRENCY = 16
AGENT = "TrawlBot/1.0 (+https://example.org/bot; crawl@example.org)"


def trawl(origin: str, first: str, folder: str) -> int:
    """Trawl's fetch stage with all that it does: WARC, durable frontier, guard, tables. Returns the pages with a WARC record."""
    from trawl_core.clock import SystemClock, crawl_date
    from trawl_core.fetch.crawl import CrawlJob, crawl
    from trawl_core.lake import Lake, Partition, tables
    from trawl_core.sites import parse_sites

    domain, port = origin.removeprefix("http://").split(":")
    config = parse_sites(f"""user_agent: "{AGENT}"
sites:
  - domain: {domain}
    seeds: [{origin}{first}]
    delay_s: 0
    concurrency: {CONCURRENCY}
    host_concurrency: {CONCURRENCY}
    budget: {{pages: 1000000}}
    network: {{allow_networks: [127.0.0.0/8], allow_ports: [{port}]}}
""")
    clock, lake = SystemClock(), Lake(Path(folder, "lake"))
    partition = Partition(crawl_date(clock), domain)
    jobs = [CrawlJob(partition, config.sites[0])]
    outcome = crawl(jobs, lake=lake, work=Path(folder, "work"), config=config, clock=clock, threads=CONCURRENCY)[partition]
    if outcome.error is not None:
        raise outcome.error
    rows = tables.read(lake, "captures", partition, ["kind", "fetch_status", "warc_type"]).to_pylist()
    return sum(row["kind"] == "page" and row["fetch_status"] == 200 and row["warc_type"] is not None for row in rows)


def scrapy(origin: str, first: str) -> int:
    """Scrapy's crawl as its documentation writes one, keeping nothing of what it fetches. Returns the pages it saw."""
    from scrapy import Spider
    from scrapy.crawler import CrawlerProcess
    from scrapy.linkextractors import LinkExtractor

    seen = []

    class Site(Spider):
        name = "site"
        start_urls = (origin + first,)
        links = LinkExtractor()

        def parse(self, response):
            seen.append(response.url)
            yield from response.follow_all(self.links.extract_links(response), self.parse)

    process = CrawlerProcess(
        {
            "USER_AGENT": AGENT,
            "ROBOTSTXT_OBEY": True,
            "CONCURRENT_REQUESTS": CONCURRENCY,
            "CONCURRENT_REQUESTS_PER_DOMAIN": CONCURRENCY,
            "DOWNLOAD_DELAY": 0,
            "AUTOTHROTTLE_ENABLED": False,
            "TELNETCONSOLE_ENABLED": False,
            "LOG_LEVEL": "WARNING",
        }
    )
    process.crawl(Site)
    process.start()
    return len(set(seen))
