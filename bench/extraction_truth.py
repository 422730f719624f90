"""The two benchmarks that extraction is measured on, page by page. Third-party data: read where it lies, never kept."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Truth:
    """A page as it was saved, and its main content as people marked it. `page_type` is one of WCXB's seven."""

    name: str
    url: str
    body: bytes
    text: str
    page_type: str
    is_article_benchmark: bool


def read_truth(data: Path) -> Iterator[Truth]:
    """Every page below `data`: those of `wcxb/`, then those of `aeb/`. Raises FileNotFoundError when either is missing."""
    for path in sorted((data / "wcxb" / "ground-truth").iterdir()):
        truth = json.loads(path.read_text())
        body = gzip.decompress((data / "wcxb" / "html" / f"{path.stem}.html.gz").read_bytes())
        yield Truth(path.stem, truth["url"] or "", body, truth["ground_truth"].get("main_content") or "", truth["page_type"], False)
    for name, truth in sorted(json.loads((data / "aeb" / "ground-truth.json").read_text()).items()):
        body = gzip.decompress((data / "aeb" / "html" / f"{name}.html.gz").read_bytes())
        yield Truth(name, truth["url"] or "", body, truth["articleBody"], "article", True)
