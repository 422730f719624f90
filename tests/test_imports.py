"""Imports point one way: trawl_assets → stages → warc → lake, urls → sites, errors, clock. Stages meet only in tables."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parent.parent
BASE = {"child", "errors", "clock", "home", "selector_syntax", "sites", "sites_edit", "templates"}
# What each part of trawl_core may import besides itself and BASE.
ALLOWED: dict[str, set[str]] = {
    "child": set(),
    "errors": set(),
    "clock": set(),
    "selector_syntax": set(),
    "sites": set(),
    "sites_edit": set(),
    "home": set(),
    "templates": set(),
    "lake": set(),
    "urls": {"lake"},
    "warc": {"lake", "urls"},
    "extract": {"lake", "urls", "warc"},
    # Pure functions of bytes: the crawl finds links, and pages that scripts render, with the same code as the extraction.
    "fetch": {"lake", "urls", "warc", "extract.charset", "extract.links", "extract.pagination", "extract.scripted", "extract.sitemaps"},
    "dedup": {"lake", "urls"},
    "changes": {"lake", "urls"},
    # Sitemaps as they were archived: their lastmod is a hint to the plan.
    "recrawl": {"lake", "urls", "warc", "extract.sitemaps"},
    "search": {"lake", "urls", "warc"},
    "demo": set(),
    "cli": {"lake", "urls", "warc", "extract", "fetch", "dedup", "changes", "recrawl", "search"},
}


def _imports(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            yield node.module or ""
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def _part_of(path: Path) -> str:
    return path.relative_to(ROOT / "trawl_core").parts[0].removesuffix(".py")


def _is_allowed(name: str, part: str) -> bool:
    inner = name.removeprefix("trawl_core").lstrip(".")
    if not inner or not name.startswith("trawl_core") or inner in ("__version__",):
        return True
    top = inner.split(".")[0]
    return top == part or top in BASE or any(inner == allowed or inner.startswith(f"{allowed}.") for allowed in ALLOWED[part])


def test_trawl_core_imports_point_one_way() -> None:
    wrong = [
        f"{path.relative_to(ROOT)} imports {name}"
        for path in sorted((ROOT / "trawl_core").rglob("*.py"))
        if path.name != "__init__.py" or path.parent != ROOT / "trawl_core"
        for name in _imports(path)
        if name.startswith("trawl_core")
        and not _is_allowed(name, _part_of(path))
        # `from trawl_core.extract import links` yields the package too: only what is inside it counts.
        and not any(allowed.startswith(f"{name.removeprefix('trawl_core.')}.") for allowed in ALLOWED[_part_of(path)])
    ]
    assert wrong == []


def test_trawl_core_knows_no_dagster() -> None:
    wrong = [
        f"{path.relative_to(ROOT)} imports {name}"
        for path in sorted((ROOT / "trawl_core").rglob("*.py"))
        for name in _imports(path)
        if name.split(".")[0] in ("dagster", "trawl_assets")
    ]
    assert wrong == []


def test_only_the_clock_reads_the_time() -> None:
    calls = ("datetime.now(", "time.time(", "date.today(", "datetime.utcnow(")
    wrong = [
        f"{path.relative_to(ROOT)}:{number}: {line.strip()}"
        for folder in ("trawl_core", "trawl_assets")
        for path in sorted((ROOT / folder).rglob("*.py"))
        if path != ROOT / "trawl_core" / "clock.py"
        for number, line in enumerate(path.read_text().splitlines(), 1)
        if any(call in line for call in calls)
    ]
    assert wrong == []


def test_the_arrow_test_sees_a_wrong_arrow() -> None:
    assert not _is_allowed("trawl_core.dedup.stage", "changes")
    assert not _is_allowed("trawl_core.extract.stage", "fetch")
    assert _is_allowed("trawl_core.extract.links", "fetch")
