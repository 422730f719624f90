"""Changes: what became of each URL since its previous good capture.

Reads `captures`, `pages`, `page_blocks`, `structured_data` and `fingerprints` of the night and of earlier nights of the domain.
Writes `changes` (one row per URL with an event) and `template_edits`.
Promises that a row has something to show, that an error or an ETag alone makes none, and that every view renders the
stored row: no diff is computed twice.
"""
