from __future__ import annotations

import json
from pathlib import Path

import pytest

from trawl_core.cli.main import run

SITES = """
user_agent: "TrawlBot/1.0 (+https://bot.test/)"
sites:
  - domain: a.test
    seeds: [http://a.test/, http://a.test:8080/, http://b.test/, http://a.test/private/]
    exclude: [/private/]
  - {domain: b.test, seeds: [http://b.test/], enabled: false}
"""


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "sites.yaml").write_text(SITES)
    monkeypatch.setenv("TRAWL_HOME", str(tmp_path))


def test_check_names_the_seeds_that_no_crawl_would_fetch(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["sites", "check"]) == 0
    told = capsys.readouterr().out.splitlines()[1:]
    assert [line.split(";")[0] for line in told] == [
        "a.test: its seed http://a.test:8080/ will not be fetched, it is out of scope (port 8080)",
        "a.test: its seed http://b.test/ will not be fetched, it is out of scope (host)",
        "a.test: its seed http://a.test/private/ will not be fetched, it is out of scope (exclude /private/)",
    ]


def test_the_list_as_json_is_for_programs(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["sites", "list", "--json"]) == 0
    first, second = json.loads(capsys.readouterr().out)
    assert (len(first["seeds"]), first["group"], first["enabled"], second["enabled"]) == (4, None, True, False)
