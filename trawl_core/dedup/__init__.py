"""Duplicates: which pages say the same, with the proof.

Reads `pages`, `captures` and, for the clusters, `fingerprints` as of a date.
Writes `fingerprints` (date × domain), `duplicates` and `related_pages` (per date).
Promises that every reported pair was verified on its shingle sets, that every member keeps its own row, and the same
result in whatever order the dates were built.
"""
