"""The commands and the program of docs/archive.md run as they are written."""

import gzip
import re
import shlex
import uuid
from datetime import date
from pathlib import Path

import pytest

from trawl_core.cli.main import run
from trawl_core.home import Home
from trawl_core.lake import Lake
from trawl_core.lake.catalog import build_catalog
from trawl_core.warc.captures import capture_row

PAGE = Path(__file__).parents[2] / "docs" / "archive.md"
URL = "http://docs.example.org/"
BODY = b"<!doctype html><title>t</title><p>Hello"


def commands():
    """Those that read the archive; what docs/archive.md says of export and replay has tests of its own."""
    found = re.findall(r"^\$ trawl ((?:show|verify|repair|sql)\b.*)$", PAGE.read_text(), re.MULTILINE)
    return [re.sub(r"\s+> page\.html$", "", re.sub(r"\s+#.*$", "", line)) for line in found]


@pytest.fixture
def home(new_archive, make, tmp_path, monkeypatch):
    monkeypatch.setenv("TRAWL_HOME", str(tmp_path / "home"))
    monkeypatch.delenv("TRAWL_LAKE", raising=False)
    home = Home.from_env()
    home.root.mkdir()
    lake = Lake(home.lake_url)
    archive = new_archive(date(2026, 11, 30), lake=lake)
    exchange = make.exchange(make.ok(gzip.compress(BODY, mtime=0), b"Content-Encoding: gzip"), URL)
    written = archive.writer.write(exchange, capture_id := str(uuid.uuid4()), rendered=b"<p>made")
    facts = {"kind": "page", "depth": 0, "is_seed": True, "attempt": 1, "partition": archive.partition, "revisit": None}
    archive.rows.append(capture_row(exchange, capture_id=capture_id, written=written, **facts))
    archive.add(make.exchange(make.ok(b"gone", b"Server: nginx").replace(b"200 OK", b"404 Not Found"), f"{URL}gone"), kind="asset")
    archive.finish()
    build_catalog(lake, home.catalog_file)
    return home


@pytest.mark.parametrize("command", commands())
def test_commands_run(home, command, capfdbinary):
    status = run(shlex.split(command.replace("URL", URL)))
    out, said = capfdbinary.readouterr()
    assert (status, said) == (0, b""), out
    assert out.strip()


def test_there_are_commands_of_each_kind():
    assert {command.split()[0] for command in commands()} == {"show", "verify", "repair", "sql"}


def test_the_sql_finds_what_it_promises(home, capfdbinary):
    (servers,) = [command for command in commands() if "Server" in command]
    assert run(shlex.split(servers)) == 0
    assert b"nginx" in capfdbinary.readouterr().out
    (faults,) = [command for command in commands() if "trawl_fault" in command]
    assert run(shlex.split(faults)) == 0
    assert b"no rows" in capfdbinary.readouterr().out


def test_the_program_runs(home, capsys):
    (program,) = re.findall(r"^```python\n(.*?)^```$", PAGE.read_text(), re.MULTILINE | re.DOTALL)
    exec(compile(program, str(PAGE), "exec"), {})
    assert set(capsys.readouterr().out.splitlines()) == {f"{URL} {len(BODY)}", f"{URL}gone 4"}


def test_every_field_of_a_response_that_it_lists_is_written_and_no_other(home, make, new_archive):
    from trawl_core.warc.reader import iter_records

    lake = Lake(home.lake_url)
    (name,) = lake.files("warc")
    listed = set(re.findall(r"`(WARC-[A-Za-z-]+)`", PAGE.read_text())) | {"WARC-Type", "Content-Type", "Content-Length"}
    written = {key for record in iter_records(lake, name) for key, _ in record.fields}
    assert written - {"WARC-Filename"} <= listed
