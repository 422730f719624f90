"""The peers of bench.extract. Runs in their own environment, so it imports nothing of Trawl or of the other benches.

    python bench/extraction_peers.py datatrove WARC_FOLDER OUTPUT_FOLDER
    python bench/extraction_peers.py trafilatura WARC_FOLDER OUTPUT_FOLDER

Both print a JSON object with the rows they wrote and the HTML responses they read.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

_PAGE_LIMIT_S = 30  # its default, one second, would drop pages on a busy machine


def datatrove(warcs: str, output: str) -> dict[str, int]:
    """One worker, text only, as its README shows it."""
    import pyarrow.parquet as pq
    from datatrove.executor import LocalPipelineExecutor
    from datatrove.pipeline.extractors import Trafilatura
    from datatrove.pipeline.readers import WarcReader
    from datatrove.pipeline.writers import ParquetWriter
    from datatrove.utils.logging import logger

    logger.remove()
    pipeline = [
        WarcReader(warcs, recursive=True, glob_pattern="**/*.warc.gz"),
        Trafilatura(timeout=_PAGE_LIMIT_S),
        ParquetWriter(f"{output}/pages", compression="zstd"),
    ]
    LocalPipelineExecutor(pipeline, tasks=1, workers=1, logging_dir=f"{output}/logs").run()
    return {"rows": sum(pq.read_metadata(file).num_rows for file in Path(output, "pages").rglob("*.parquet"))}


def trafilatura(warcs: str, output: str) -> dict[str, int]:
    """A plain loop that takes text and metadata of each response."""
    import pyarrow as pa
    import pyarrow.parquet as pq
    from trafilatura import bare_extraction
    from warcio.archiveiterator import ArchiveIterator

    rows = []
    for path in sorted(Path(warcs).rglob("*.warc.gz")):
        with path.open("rb") as file:
            for record in ArchiveIterator(file):
                if record.rec_type != "response":
                    continue
                url = record.rec_headers.get_header("WARC-Target-URI")
                document = bare_extraction(record.content_stream().read(), url=url, with_metadata=True)
                if document is not None:
                    facts = {name: getattr(document, name) for name in ("title", "author", "date", "description", "sitename", "text")}
                    rows.append({"url": url, **facts})
    Path(output).mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.Table.from_pylist(rows), f"{output}/pages.parquet", compression="zstd")
    return {"rows": len(rows)}


if __name__ == "__main__":
    print(json.dumps({"datatrove": datatrove, "trafilatura": trafilatura}[sys.argv[1]](*sys.argv[2:])))
