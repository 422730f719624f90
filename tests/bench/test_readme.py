"""`python -m bench` rewrites the table of bench/README.md and nothing else of it."""

from __future__ import annotations

from datetime import date

from bench.__main__ import END, README, START, with_results

RESULT = {
    "bench": "fetch",
    "bars": {
        "vs_peer": {"value": 7.1, "bar": 5.0, "ok": True},
        "small": {"value": 9, "bar": 8, "ok": False},
        "n": {"value": 3, "bar": None, "ok": True},
    },
}


def test_results_stand_between_the_marks():
    text = with_results(f"before\n{START}\nold\n{END}\nafter\n", [RESULT], date(2026, 11, 30))
    assert text.startswith(f"before\n{START}\n| bench |") and text.endswith(f"{END}\nafter\n")
    assert "| fetch | vs_peer | 7.1 | 5.0 | ok | `python -m bench.fetch` | 2026-11-30 |\n" in text
    assert "| fetch | small | 9 | 8 | missed |" in text and "| fetch | n | 3 | – |  |" in text
    assert "old" not in text
    assert with_results(text, [RESULT], date(2026, 11, 30)) == text


def test_the_readme_has_the_marks():
    assert README.read_text().count(START) == README.read_text().count(END) == 1


def test_the_rows_of_other_benches_stay():
    other = {"bench": "frontier", "bars": {"rss_mb": {"value": 200, "bar": 300, "ok": True}}}
    both = with_results(f"{START}\n{END}\n", [other, RESULT], date(2026, 11, 29))
    text = with_results(both, [RESULT], date(2026, 11, 30))
    assert "| frontier | rss_mb | 200 | 300 | ok | `python -m bench.frontier` | 2026-11-29 |\n" in text
    assert text.count("| fetch |") == 3 and "2026-11-29" not in "".join(line for line in text.splitlines() if "| fetch |" in line)
