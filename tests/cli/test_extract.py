"""`trawl extract`, with the example of docs/structured.md as its page and schema."""

from __future__ import annotations

import json
import re
import uuid
from datetime import UTC, date, datetime
from pathlib import Path

import pytest

from trawl_core.cli.main import run
from trawl_core.clock import SystemClock
from trawl_core.lake import Lake, Partition, tables
from trawl_core.warc.captures import capture_row
from trawl_core.warc.exchange import Exchange
from trawl_core.warc.writer import WarcWriter

DOCS = (Path(__file__).parents[2] / "docs" / "structured.md").read_text()
SCHEMA, PAGE, GIVEN = (re.search(rf"```{kind}\n(.*?)```", DOCS, re.DOTALL)[1] for kind in ("yaml", "html", "json"))
URL = "http://shop.test/kettles/arno"
NIGHT = Partition(date(2026, 11, 30), "shop.test")
SITES = 'user_agent: "TestBot/1.0 (+https://bot.test/)"\nsites:\n  - domain: shop.test\n    seeds: [http://shop.test/]\n'


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    root = tmp_path / "home"
    lake, clock = Lake(root / "lake"), SystemClock()
    rows = []
    with WarcWriter(lake, NIGHT, software="t/0", user_agent="t", config_hash="0", clock=clock, work=root / "work") as writer:
        for url, mime, body in (
            (URL, "text/html", PAGE.encode()),
            ("http://shop.test/data.json", "application/json", b'{"a": 1}'),
            ("http://shop.test/declared", "text/html", b'<script type="application/ld+json">{"@type":"Product","name":"Tea"}</script>'),
        ):
            head = f"HTTP/1.1 200 OK\r\nContent-Type: {mime}\r\n\r\n".encode()
            exchange = Exchange(
                url=url,
                started_at=datetime(2026, 11, 30, 2, tzinfo=UTC),
                request_bytes=b"GET / HTTP/1.1\r\n\r\n",
                response_bytes=head + body,
                head_length=len(head),
                payload=body,
                status=200,
                reason="OK",
                headers=(("Content-Type", mime),),
                outcome="ok",
            )
            key = str(uuid.uuid4())
            written = writer.write(exchange, key)
            rows.append(
                capture_row(
                    exchange,
                    capture_id=key,
                    partition=NIGHT,
                    written=written,
                    revisit=None,
                    kind="page",
                    depth=0,
                    is_seed=True,
                    attempt=1,
                )
            )
    tables.commit(lake, "captures", NIGHT, rows)
    (root / "sites.yaml").write_text(SITES + "".join(f"    {line}\n" for line in SCHEMA.splitlines()))
    monkeypatch.setenv("TRAWL_HOME", str(root))
    monkeypatch.delenv("TRAWL_LAKE", raising=False)
    return root


def test_the_example_of_the_docs_gives_what_they_say(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["extract", URL, "--json"]) == 0
    (item,) = json.loads(capsys.readouterr().out)
    assert item["fields"] == json.loads(GIVEN)
    assert (item["syntax"], item["type"], item["problems"]) == ("selector", "kettle", [])


def test_a_table_for_people(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["extract", URL]) == 0
    told = capsys.readouterr().out.splitlines()
    assert told[:3] == ["kettle (selector)", "field\tvalue", "name\tKettle Arno"]
    assert "sizes[1].litres\t1.7" in told
    assert told[-1] == "kettle: the next page is http://shop.test/kettles/arno?page=2"


@pytest.mark.parametrize("text", [SCHEMA, SCHEMA.removeprefix("extraction:\n"), "{pattern: arno, page_type: k, selectors: {name: h1}}"])
def test_a_schema_of_a_file_as_a_list_or_alone(tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str) -> None:
    (tmp_path / "s.yaml").write_text(text)
    assert run(["extract", URL, "--schema", str(tmp_path / "s.yaml"), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)[0]["fields"]["name"] == "Kettle Arno"


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        (
            "- pattern: x\n  page_type: k\n  selectors:\n    name: 'h1['\n",
            "s.yaml:4: extraction.0.selectors.name.css: the CSS selector 'h1['",
        ),
        ("pattern: x\npage_type: k\nselektors: {name: h1}\n", "s.yaml:3: unknown key 'selektors', did you mean 'selectors'?"),
        ("- pattern: '['\n", "s.yaml:1: extraction.0.pattern: '[' is not a regular expression"),
        ("a: [", "s.yaml:1: not valid YAML"),
        ("text", "s.yaml: expected a schema or a list of schemas, found a single value."),
        ("", "s.yaml: expected a schema or a list of schemas, found an empty file."),
    ],
)
def test_a_wrong_file_is_named_with_its_line(tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str, complaint: str) -> None:
    (tmp_path / "s.yaml").write_text(text)
    assert run(["extract", URL, "--schema", str(tmp_path / "s.yaml")]) == 2
    assert complaint in capsys.readouterr().err


def test_a_file_that_is_not_there(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["extract", URL, "--schema", str(tmp_path / "none.yaml")]) != 0
    assert "none.yaml" in capsys.readouterr().err


def test_what_the_page_declares(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["extract", "http://shop.test/declared"]) == 1
    told = capsys.readouterr()
    assert told.out == ""
    assert "no schema of shop.test in sites.yaml has a pattern that is found in http://shop.test/declared (/kettles/)" in told.err
    assert run(["extract", "http://shop.test/declared", "--all", "--json"]) == 0
    (item,) = json.loads(capsys.readouterr().out)
    assert (item["entity_type"], item["entity"], item["preferred"]) == ("Product", {"name": "Tea"}, True)


def test_a_schema_that_finds_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "s.yaml").write_text("{pattern: arno, page_type: k, selectors: {name: .none}, pagination: {follow_next: .none}}")
    assert run(["extract", URL, "--schema", str(tmp_path / "s.yaml")]) == 1
    told = capsys.readouterr().out
    assert "problem: no selector matched" in told
    assert "k: the next page is none: follow_next matches nothing here" in told


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["http://shop.test/data.json"], "is application/json, not HTML"),
        (["http://shop.test/never"], "was never archived"),
        ([URL, "--date", "2020-01-01"], "was never archived on 2020-01-01"),
        (["nonsense"], "is not an http(s) URL"),
    ],
)
def test_what_can_not_be_tried_is_said(capsys: pytest.CaptureFixture[str], arguments: list[str], complaint: str) -> None:
    assert run(["extract", *arguments]) == 2
    assert complaint in capsys.readouterr().err


def test_sites_check_names_a_selector_that_can_not_be_read(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = home / "sites.yaml"
    assert run(["sites", "check"]) == 0
    file.write_text(file.read_text().replace("table.sizes tr", "table.sizes >"))
    line = next(number for number, text in enumerate(file.read_text().splitlines(), start=1) if "table.sizes" in text)
    assert run(["sites", "check"]) == 2
    assert f"{file}:{line}: sites.0.extraction.0.selectors.sizes.css: the CSS selector 'table.sizes >'" in capsys.readouterr().err
