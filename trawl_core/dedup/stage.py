"""The stage's two entry points: fingerprints of a partition, duplicates of a date."""

from trawl_core.dedup.duplicates import find_duplicates
from trawl_core.dedup.fingerprint import fingerprint_pages

__all__ = ["find_duplicates", "fingerprint_pages"]
