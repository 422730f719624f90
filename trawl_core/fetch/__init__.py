"""The crawl: what the plan wants is fetched politely, archived and recorded.

Reads: crawl_plan, url_history and the archive's earlier captures. Writes: WARC files, captures, frontier_log.
Promises: no request before its origin's robots answer, none to an address the site doesn't allow, and every attempt a row.
"""
