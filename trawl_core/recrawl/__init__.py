"""Recrawl: what is known of each URL, and which are worth a fetch tonight.

Reads captures, changes, pages, url_history; writes url_history, crawl_plan, crawl_report.
Promises: every active URL is planned sooner or later, failures never change a rate, the same inputs give the same plan.
"""
