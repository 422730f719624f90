"""The lake: WARC files, one Parquet file per table and partition, index files.

Every stage reads and writes through `Lake` and `tables`; `schemas` is the vocabulary they share.
"""

from trawl_core.lake.layout import Lake, Partition

__all__ = ["Lake", "Partition"]
