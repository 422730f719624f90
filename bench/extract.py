"""Extraction from WARC to Parquet against datatrove's and trafilatura's, over the same real pages; and how good the texts are.

`python -m bench.extract [--data FOLDER] [--quick]` packs the pages of WCXB and of the article extraction benchmark into one WARC and
measures CPU seconds of whole process trees, the best of two runs: Trawl's `pages`, `page_blocks` and `structured_data` in both
profiles; datatrove's WarcReader → Trafilatura → ParquetWriter (text only); a plain trafilatura loop with metadata. Then the word F1 of
both profiles by cross-validation, beside trafilatura's. `--quick` takes every eighth page once, and judges rows only.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any

from bench import extraction_archive
from bench.extraction_truth import Truth, read_truth
from bench.measure import Bar, Spent, best_of, measure, measure_call, print_rows, report

CACHE = Path(__file__).parent / ".cache" / "extract"
DATA = Path(__file__).parents[2] / "shared" / "data"
DATATROVE = "0.10.1"
QUICK_STEP = 8
PROFILES = ("quality", "fast")


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.extract", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--data", type=Path, default=DATA, help="the folder that holds wcxb/ and aeb/ (default: %(default)s)")
    parser.add_argument("--quick", action="store_true", help="every eighth page, one run, rows only")
    arguments = parser.parse_args()
    pages = _pages(arguments.data)[:: QUICK_STEP if arguments.quick else 1]
    python = _peers()
    lake = CACHE / "lake"
    shutil.rmtree(lake, ignore_errors=True)
    count = extraction_archive.archive(pages, lake)
    times = 1 if arguments.quick else 2
    runs = {
        "datatrove": best_of(times, lambda: _peer(python, "datatrove", lake)),
        **{f"trawl {profile}": best_of(times, lambda profile=profile: _trawl(lake, profile, 1)) for profile in PROFILES},
        "trafilatura with metadata": best_of(times, lambda: _peer(python, "trafilatura", lake)),
    }
    print_rows(f"{count} pages, {sum(len(page.body) for page in pages) / 1e6:.0f} MB", [_row(name, spent) for name, spent in runs.items()])
    bars = {f"{profile}_rows": Bar(runs[f"trawl {profile}"].value["rows"], at_least=count, at_most=count) for profile in PROFILES}
    figures: dict[str, Any] = {"pages": count, "runs": {name: _row(name, spent) for name, spent in runs.items()}}
    if not arguments.quick:
        bars |= _speed_bars(runs)
        two = _two_processes(lake, times)
        print_rows("The stage `pages` of the quality profile", two)
        bars["two_processes_vs_one"] = Bar(round(two[0]["wall_s"] / two[1]["wall_s"], 2), at_least=1.7)
        bars |= _text_bars(arguments.data)
        figures["two_processes"] = two
    return report("extract", bars, figures)


def _pages(data: Path) -> list[Truth]:
    try:
        return list(read_truth(data))
    except FileNotFoundError as error:
        raise SystemExit(
            f"bench.extract, reading the pages of WCXB and of the article extraction benchmark below {data}: {error.filename} is missing. "
            "Pass the folder that holds wcxb/ and aeb/ with --data."
        ) from None


def _speed_bars(runs: dict[str, Spent]) -> dict[str, Bar]:
    """Ratios of CPU seconds for the same pages, and so of pages per CPU-second."""
    quality, fast = runs["trawl quality"].cpu_s, runs["trawl fast"].cpu_s
    datatrove, trafilatura = runs["datatrove"].cpu_s, runs["trafilatura with metadata"].cpu_s
    return {
        "quality_vs_datatrove": Bar(round(datatrove / quality, 2), at_least=1.5),
        "quality_vs_trafilatura_with_metadata": Bar(round(trafilatura / quality, 2), at_least=3),
        "fast_vs_datatrove": Bar(round(datatrove / fast, 2), at_least=5),
        "datatrove_rows": Bar(runs["datatrove"].value["rows"]),
    }


def _text_bars(data: Path) -> dict[str, Bar]:
    try:
        from bench.extraction_quality import cross_validated_scores
    except ModuleNotFoundError as error:
        raise SystemExit(
            f"bench.extract, judging texts by cross-validation: {error.name} is not installed. "
            "Install requirements-bench.lock (`make bench` does), or run with --quick."
        ) from None
    scores = cross_validated_scores(data)
    best = max(own["wcxb"] for name, own in scores.items() if name.startswith("trafilatura"))
    print_rows("Word F1 on WCXB, 4-gram F1 on articles", [{"text of": name, **own} for name, own in scores.items()])
    return {
        "quality_wcxb_f1_over_trafilatura_best": Bar(round(scores["quality"]["wcxb"] - best, 4), at_least=0.015),
        "fast_wcxb_f1_over_trafilatura_default": Bar(round(scores["fast"]["wcxb"] - scores["trafilatura, default"]["wcxb"], 4), at_least=0),
        "quality_wcxb_f1": Bar(scores["quality"]["wcxb"], at_least=0.838),
        "quality_articles_f1": Bar(scores["quality"]["articles"], at_least=0.957),
        "fast_articles_f1": Bar(scores["fast"]["articles"], at_least=0.93),
    }


# what is measured --------------------------------------------------------------------------------------------------


def _trawl(lake: Path, profile: str, processes: int) -> Spent:
    return _on_a_copy(lake, lambda copy: measure_call("bench.extract:extract", str(copy), profile, processes))


def _two_processes(lake: Path, times: int) -> list[dict[str, Any]]:
    """Wall seconds of the stage itself, by one process and by two, the best of some runs."""
    return [
        {
            "processes": processes,
            "wall_s": min(_trawl(lake, "quality", processes).value["pages_wall_s"] for _ in range(times)),
        }
        for processes in (1, 2)
    ]


def _on_a_copy(lake: Path, run: Callable[[Path], Spent]) -> Spent:
    """Each run has a lake that was never extracted."""
    copy = CACHE / "run"
    shutil.rmtree(copy, ignore_errors=True)
    shutil.copytree(lake, copy)
    return run(copy)


def extract(folder: str, profile: str, processes: int) -> dict[str, Any]:
    """Both stages over the archive, as a night runs them."""
    from trawl_core.extract.stage import extract_pages
    from trawl_core.extract.structured_stage import extract_structured
    from trawl_core.lake import Lake

    lake, site = Lake(folder), extraction_archive.site(profile)
    started = time.monotonic()
    made = extract_pages(lake, extraction_archive.PARTITION, site, workers=processes)
    pages_wall_s = time.monotonic() - started
    items = extract_structured(lake, extraction_archive.PARTITION, site)
    return {"rows": made.facts["rows"], "by_status": made.facts["by_status"], "items": items.facts["rows"], "pages_wall_s": pages_wall_s}


def _peer(python: Path, name: str, lake: Path) -> Spent:
    output = CACHE / name
    shutil.rmtree(output, ignore_errors=True)
    spent = measure([str(python), str(Path(__file__).with_name("extraction_peers.py")), name, str(lake), str(output)])
    if spent.status:
        raise SystemExit(f"bench.extract, running {name} over {lake}: it ended with status {spent.status}; what it said stands above.")
    return spent


def _row(name: str, spent: Spent) -> dict[str, Any]:
    rows = spent.value["rows"]
    return {
        "extractor": name,
        "rows": rows,
        "cpu_s": round(spent.cpu_s, 2),
        "wall_s": round(spent.wall_s, 2),
        "peak_rss_mb": round(spent.peak_rss_mb),
    }


def _peers() -> Path:
    """The Python of an environment of their own, with the trafilatura that Trawl uses; made once."""
    wanted = (
        f"datatrove=={DATATROVE}",
        f"trafilatura=={version('trafilatura')}",
        "warcio",
        "pyarrow",
        "orjson",
        "python-magic",
        "faust-cchardet",
        "lxml-html-clean",
    )
    venv = CACHE / "venv"
    stamp = venv / "installed"
    if not stamp.exists() or stamp.read_text() != "\n".join(wanted):
        print("installing the peers …", file=sys.stderr, flush=True)
        shutil.rmtree(venv, ignore_errors=True)
        try:
            subprocess.run([sys.executable, "-m", "venv", venv], check=True)
            subprocess.run([venv / "bin" / "python", "-m", "pip", "install", "--quiet", *wanted], check=True)
        except subprocess.CalledProcessError:
            raise SystemExit(f"bench.extract could not install {', '.join(wanted)} into {venv}; what pip said stands above.") from None
        stamp.write_text("\n".join(wanted))
    return venv / "bin" / "python"


if __name__ == "__main__":
    sys.exit(main())
