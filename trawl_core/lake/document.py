"""docs/tables.md from the schemas: `python -m trawl_core.lake.document > docs/tables.md`."""

from __future__ import annotations

import sys

from trawl_core.lake.schemas import TABLES

_HEAD = """# Tables

Made from `trawl_core/lake/schemas.py` by `python -m trawl_core.lake.document > docs/tables.md`; a test keeps it current.

Each table is one Parquet file a partition, `lake/<table>/crawl_date=…/domain=…/part.parquet` (no `domain=` for a
table of a whole date), and a view of the same name in `trawl sql` and in `trawl.duckdb`.
"""


def document() -> str:
    """The page as Markdown."""
    parts = [_HEAD]
    for spec in TABLES.values():
        where = "crawl date × domain" if spec.by == "domain" else "crawl date"
        parts.append(
            f"\n## {spec.name}\n\n{spec.doc}. One file a {where}, sorted by {', '.join(spec.sort)}.\n\n"
            "| column | type | meaning |\n| --- | --- | --- |\n"
        )
        for field in spec.schema:
            doc = (field.metadata or {}).get(b"doc", b"").decode().replace("|", "\\|")
            parts.append(f"| {field.name} | {str(field.type).replace('|', chr(92) + '|')} | {doc} |\n")
    return "".join(parts)


if __name__ == "__main__":
    sys.stdout.write(document())
