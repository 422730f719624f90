from __future__ import annotations

import gzip
import json
import uuid
import zipfile
from datetime import UTC, date, datetime
from pathlib import Path

import pytest

from trawl_core.cli.main import run
from trawl_core.clock import SystemClock
from trawl_core.lake import Lake, Partition, tables
from trawl_core.warc.captures import capture_row
from trawl_core.warc.exchange import Exchange
from trawl_core.warc.writer import WarcWriter

NIGHTS = (date(2026, 11, 29), date(2026, 11, 30))
HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 5\r\n\r\n"


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Two nights of a.test and one of b.test, a page each."""
    root = tmp_path / "home"
    lake = Lake(root / "lake")
    for domain, days in (("a.test", NIGHTS), ("b.test", NIGHTS[:1])):
        for day in days:
            _archive(lake, Partition(day, domain), root / "work")
    (root / "sites.yaml").write_text(
        'user_agent: "TestBot/1.0 (+https://bot.test/)"\nsites:\n  - {domain: a.test, seeds: [http://a.test/]}\n'
    )
    monkeypatch.setenv("TRAWL_HOME", str(root))
    monkeypatch.delenv("TRAWL_LAKE", raising=False)
    return root


def _archive(lake: Lake, partition: Partition, work: Path) -> None:
    exchange = Exchange(
        url=f"http://{partition.domain}/",
        started_at=datetime(partition.crawl_date.year, partition.crawl_date.month, partition.crawl_date.day, 2, tzinfo=UTC),
        request_bytes=b"GET / HTTP/1.1\r\n\r\n",
        response_bytes=HEAD + b"12345",
        head_length=len(HEAD),
        payload=b"12345",
        status=200,
        reason="OK",
        headers=(("Content-Type", "text/html"), ("Content-Length", "5")),
        outcome="ok",
    )
    capture_id = str(uuid.uuid4())
    with WarcWriter(lake, partition, software="t/0", user_agent="t", config_hash="0", clock=SystemClock(), work=work) as writer:
        written = writer.write(exchange, capture_id)
    row = capture_row(
        exchange,
        capture_id=capture_id,
        partition=partition,
        written=written,
        revisit=None,
        kind="page",
        depth=0,
        is_seed=True,
        attempt=1,
    )
    tables.commit(lake, "captures", partition, [row])
    tables.commit(
        lake, "pages", partition, [{"capture_id": capture_id, "url": exchange.url, "mime_detected": "text/html", "text": "12345"}]
    )


def test_a_wacz_of_one_night(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    output = tmp_path / "night.wacz"
    assert run(["export", "wacz", "--date", "2026-11-29", "--output", str(output)]) == 0
    assert "2 pages, 2 records of 2 WARC files." in capsys.readouterr().out
    with zipfile.ZipFile(output) as package:
        assert json.loads(package.read("datapackage.json"))["title"] == "a.test, b.test, 2026-11-29"
    assert run(["export", "wacz", "--date", "2026-11-29", "--output", str(output)]) == 2
    assert "--overwrite" in capsys.readouterr().err


def test_what_is_missing_from_a_wacz_is_named_and_ends_in_1(home: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = next(home.rglob("crawl_date=2026-11-30/domain=a.test/*.warc.gz"))
    file.write_bytes(file.read_bytes()[:-7])
    assert run(["export", "wacz", "--from", "2026-11-30", "--output", str(tmp_path / "x.wacz")]) == 1
    told = capsys.readouterr()
    assert file.name in told.err and "1 pages, 1 records of 1 WARC files." in told.out


def test_an_index_on_standard_output_and_in_a_packed_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["export", "cdxj", "--domain", "a.test"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split(" ")[:2] for line in lines] == [["test,a)/", "20261129020000"], ["test,a)/", "20261130020000"]]
    output = tmp_path / "index.cdxj.gz"
    assert run(["export", "cdxj", "--to", "2026-11-29", "--paths", "--output", str(output)]) == 0
    packed = gzip.decompress(output.read_bytes()).decode().splitlines()
    assert [json.loads(line.split(" ", 2)[2])["filename"].split("/")[2] for line in packed] == ["domain=a.test", "domain=b.test"]


def test_two_files_of_one_name_need_their_paths(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    first, second = sorted((home / "lake" / "warc" / "crawl_date=2026-11-29").rglob("*.warc.gz"))
    second.rename(second.with_name(first.name))
    assert run(["export", "cdxj"]) == 2
    assert "--paths" in capsys.readouterr().err
    assert run(["export", "cdxj", "--paths"]) == 0


def test_an_open_file_is_named_and_left_out(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = next(home.rglob("crawl_date=2026-11-30/domain=a.test/*.warc.gz"))
    file.rename(file.with_name(f"{file.name}.open"))
    assert run(["export", "cdxj"]) == 0
    told = capsys.readouterr()
    assert "trawl repair" in told.err and told.out.count("\n") == 2


def test_pages_as_json_lines(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["export", "jsonl", "--domain", "a.test", "--from", "2026-11-30"]) == 0
    (line,) = capsys.readouterr().out.splitlines()
    assert json.loads(line)["text"] == "12345"
    output = tmp_path / "pages.jsonl"
    assert run(["export", "jsonl", "-o", str(output)]) == 0
    assert output.read_text().count("\n") == 3


@pytest.mark.parametrize(
    ("arguments", "status", "told"),
    [
        (["jsonl", "--date", "2026-11-30", "--from", "2026-11-29"], 2, "one or the other"),
        (["jsonl", "--from", "2026-11-30", "--to", "2026-11-29"], 2, "Turn them round"),
        (["jsonl", "--date", "yesterday"], 2, "2026-11-30"),
        (["jsonl", "--domain", "unknown.test"], 2, "unknown.test"),
        (["cdxj", "--date", "2020-01-01"], 1, "no captures or warc on 2020-01-01"),
        (["wacz"], 2, "--output"),
        (["jsonl", "-o", "nowhere/x.jsonl"], 1, "writing nowhere/x.jsonl"),
    ],
)
def test_wrong_input_is_explained(arguments: list[str], status: int, told: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["export", *arguments]) == status
    error = capsys.readouterr().err
    assert told in error and "Traceback" not in error
