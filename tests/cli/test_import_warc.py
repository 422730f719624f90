from __future__ import annotations

import gzip
import json
import re
import shlex
import zipfile
from pathlib import Path

import pytest

from trawl_core.cli.main import run
from trawl_core.sites import load_sites

SITES = """
user_agent: "TrawlBot/1.0 (+https://bot.test/)"
sites:
  - {domain: docs.example.org, seeds: [http://docs.example.org/]}
"""
DOCS = Path(__file__).parents[2] / "docs" / "import.md"


def _record(url: str, *fields: str) -> bytes:
    block = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n<p>What it says."
    head = ["WARC/1.0", "WARC-Type: response", f"WARC-Record-ID: <{url}>", "WARC-Date: 2020-01-02T03:04:05Z", f"WARC-Target-URI: {url}"]
    lines = [*head, "Content-Type: application/http;msgtype=response", *fields, f"Content-Length: {len(block)}"]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + block + b"\r\n\r\n"


GOOD = gzip.compress(_record("http://docs.example.org/")) + gzip.compress(_record("http://127.0.0.5:8080/x"))


@pytest.fixture(autouse=True)
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / "sites.yaml").write_text(SITES)
    monkeypatch.setenv("TRAWL_HOME", str(tmp_path / "home"))
    monkeypatch.delenv("TRAWL_LAKE", raising=False)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "crawl.warc.gz").write_bytes(GOOD)
    (tmp_path / "second.warc").write_bytes(_record("http://docs.example.org/2"))
    with zipfile.ZipFile(tmp_path / "crawl.wacz", "w") as archive:
        archive.writestr("archive/inner.warc", _record("http://docs.example.org/3"))
    return tmp_path


def _told(capsys: pytest.CaptureFixture[str]) -> str:
    return capsys.readouterr().out


def test_what_came_what_sites_yaml_lacks_and_what_is_next(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["import-warc", "crawl.warc.gz"]) == 0
    told = _told(capsys)
    assert "crawl.warc.gz: 2 captures of 2 domains on 1 day, 0 known before; as it is in warc/imported/" in told
    assert "  - domain: 127.0.0.5\n    seeds: [http://127.0.0.5:8080/]\n    enabled: false\n" in told
    assert "  trawl crawl --date 2020-01-02 --domain 127.0.0.5 --domain docs.example.org\n" in told
    assert run(["import-warc", "crawl.warc.gz"]) == 0
    assert "imported already on" in _told(capsys)
    assert run(["show", "http://docs.example.org/", "--body"]) == 0


def test_the_lines_can_be_written(capsys: pytest.CaptureFixture[str], files: Path) -> None:
    assert run(["import-warc", "crawl.warc.gz", "--add-sites"]) == 0
    assert "added 127.0.0.5 to" in _told(capsys)
    site = load_sites(files / "home" / "sites.yaml").site("127.0.0.5")
    assert (site.enabled, site.seeds, site.network.allow_ports) == (False, ("http://127.0.0.5:8080/",), (8080,))
    assert run(["import-warc", "crawl.warc.gz", "--add-sites"]) == 0


def test_a_fault_is_status_1_with_file_byte_and_fault(capsys: pytest.CaptureFixture[str], files: Path) -> None:
    (files / "bad.warc").write_bytes(_record("http://docs.example.org/", "WARC-Block-Digest: sha1:" + "A" * 32) + b"junk")
    assert run(["import-warc", "bad.warc", "second.warc"]) == 1
    told = _told(capsys)
    assert "bad.warc: at byte 0: the response of http://docs.example.org/: the block digest is sha1:AAAA" in told
    assert re.search(r"bad\.warc: at byte \d+: 4 bytes that are no WARC record, beginning b'junk'", told)
    assert "second.warc: 1 capture of 1 domain" in told
    (files / "none.warc").write_bytes(b"")
    assert run(["import-warc", "none.warc"]) == 1
    assert "failed: importing none.warc: at byte 0: the file is empty. Nothing was imported from it." in _told(capsys)


def test_many_faults_are_shown_in_part(capsys: pytest.CaptureFixture[str], files: Path) -> None:
    data = b"".join(_record(f"http://docs.example.org/{number}", "WARC-Block-Digest: sha1:" + "A" * 32) for number in range(30))
    (files / "bad.warc").write_bytes(data)
    assert run(["import-warc", "bad.warc"]) == 1
    told = _told(capsys)
    assert told.count("the block digest is") == 20
    (name,) = re.findall(r"and 10 more; (warc/imported/\w+/import\.json) in the lake has the first 1,000", told)
    assert len(json.loads((files / "home" / "lake" / name).read_text())["faults"]) == 30


def test_the_summary_as_json_is_for_programs(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["import-warc", "crawl.warc.gz", "second.warc", "--json"]) == 0
    told = json.loads(_told(capsys))
    assert [(one["status"], one["new"], one["imported"]["form"]) for one in told["files"]] == [
        ("imported", 2, "as it is"),
        ("imported", 1, "as it is"),
    ]
    assert told["sites_missing"] == ["127.0.0.5"]


@pytest.mark.parametrize(
    ("args", "why"),
    [
        ([], "Missing argument"),
        (["nowhere.warc"], "does not exist"),
        (["crawl.warc.gz", "--date", "yesterday"], "is not a date"),
        (["crawl.warc.gz", "--domain", "http://x/"], "is not a host name"),
        (["crawl.warc.gz", "--max-new-domains", "0"], "more than 0 of its domains (1) are not in sites.yaml"),
    ],
)
def test_wrong_usage_is_status_2_and_changes_nothing(capsys: pytest.CaptureFixture[str], files: Path, args: list[str], why: str) -> None:
    assert run(["import-warc", *args]) == 2
    assert why in capsys.readouterr().err
    assert not list((files / "home").glob("lake/captures/**/*.parquet"))


def _commands() -> list[str]:
    blocks = re.findall(r"```console\n(.*?)```", DOCS.read_text(), re.DOTALL)
    return [line.removeprefix("$ ") for block in blocks for line in block.splitlines() if line.startswith("$ trawl import-warc")]


def test_the_commands_of_the_docs_run() -> None:
    assert len(_commands()) >= 5
    statuses = [run(shlex.split(command, comments=True)[1:]) for command in _commands()]
    # Once imported under the days of its records, the file stays there: `--date` says so.
    assert statuses == [0, 0, 1, 0, 0]
