"""Trawl: nightly recrawls of websites into an archive, tables and a search index. A plain library, no Dagster."""

__version__ = "0.1.0"
