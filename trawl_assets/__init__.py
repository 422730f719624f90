"""Trawl's Dagster code location: thin assets over trawl_core, partitioned by crawl date × domain."""
