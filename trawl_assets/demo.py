"""`make demo`: two nights over three sample sites on loopback, with the very commands that a user types.

The home is data/demo, made anew each time. The sites stay up while this program runs; `make dev` on that home serves
them again.
"""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, timedelta
from pathlib import Path

import click

from trawl_core.clock import SystemClock, crawl_date
from trawl_core.demo import HOSTS, Demo, demo_sites_yaml, serve_demo
from trawl_core.home import Home

HOME = Path("data/demo")
PORTS_FILE = "demo-ports.json"
FIRST_NIGHT = "The first night: everything is new."
SECOND_NIGHT = (
    "The second night: pages were edited, a price changed, a stamp went into every footer, some pages are new, moved or gone. "
    "What did not change costs a 304."
)
QUERIES = (
    (
        "How each night went, by answer",
        "select crawl_date, domain, outcome, count(*) as n from captures where kind = 'page' group by all order by all",
    ),
    (
        "What a shop changed in its structured data",
        "select url, f.path, f.old, f.new from changes, unnest(fields) as t(f) "
        "where event <> 'new' and list_contains(kinds, 'structured') order by all limit 10",
    ),
    (
        "The same article under several addresses",
        "select representative_url, url, relation, round(jaccard, 3) as jaccard from duplicates "
        "where crawl_date = (select max(crawl_date) from duplicates) and relation <> 'representative' order by relation, url limit 10",
    ),
)
EDITED_PAGE = "/guide/dead-letters"
SEARCH = "what happens to messages that keep failing"


@dataclass(frozen=True)
class Stage:
    """The demo's home and environment; `say` and `trawl` print what a person would type and see."""

    home: Path

    def trawl(self, *args: str, now: str | None = None, must_pass: bool = True) -> int:
        """Run one `trawl` command in the demo's home, shown first. Raises SystemExit when it fails and may not."""
        shown = f"TRAWL_HOME={self.home} " + (f"TRAWL_NOW={now} " if now else "") + " ".join(["trawl", *map(_quoted, args)])
        click.secho(f"\n$ {shown}", bold=True)
        environ = {**os.environ, "TRAWL_HOME": str(self.home), **({"TRAWL_NOW": now} if now else {})}
        environ.pop("TRAWL_LAKE", None)
        status = subprocess.run([Path(sys.executable).with_name("trawl"), *args], env=environ, check=False).returncode
        if status and must_pass:
            raise SystemExit(f"the demo stopped: `{shown}` ended with exit status {status}.")
        return status


def _quoted(word: str) -> str:
    """As a person would quote it for the shell: SQL in double quotes, its own single quotes left alone."""
    return f'"{word}"' if "'" in word and not set(word) & set('"$`\\!') else shlex.quote(word)


def say(text: str) -> None:
    click.secho(f"\n{text}", fg="cyan")


def prepare(home: Path, demo: Demo, first: date) -> None:
    """A new home with the sample sites in its sites.yaml."""
    shutil.rmtree(home, ignore_errors=True)
    home.mkdir(parents=True)
    (home / "sites.yaml").write_text(demo_sites_yaml(demo.ports, first))
    (home / PORTS_FILE).write_text(json.dumps(demo.ports))
    Home.at(home).prepare()


def two_nights(stage: Stage, demo: Demo, nights: tuple[date, date]) -> None:
    for number, (night, words) in enumerate(zip(nights, (FIRST_NIGHT, SECOND_NIGHT), strict=True)):
        demo.set_night(number)
        say(words)
        stage.trawl("crawl", now=f"{night.isoformat()}T02:00:00Z")


def look_around(stage: Stage, origins: Mapping[str, str]) -> None:
    for title, query in QUERIES:
        say(title)
        stage.trawl("sql", query)
    say("What changed on one page")
    stage.trawl("changes", "--url", f"{origins['docs']}{EDITED_PAGE}")
    say("Search by meaning and by keyword")
    stage.trawl("search", SEARCH, "-k", "3")
    say("Every row leads to sound archived bytes")
    stage.trawl("verify")


def main() -> None:
    today = crawl_date(SystemClock())
    with serve_demo() as demo:
        say("Three sample sites are served on this machine: " + ", ".join(f"{name} at {demo.origins[name]}" for name in HOSTS))
        prepare(HOME, demo, today - timedelta(days=1))
        stage = Stage(HOME)
        two_nights(stage, demo, (today - timedelta(days=1), today))
        look_around(stage, demo.origins)
    say("What next")
    click.echo(f"  TRAWL_HOME={HOME} make dev                       the Dagster UI on what you just saw, http://127.0.0.1:3000")
    click.echo("  .venv/bin/trawl sites add https://docs.example.org/    your own site, in data/sites.yaml")
    click.echo("  .venv/bin/trawl crawl                                  and its first night; README.md has the first hour")


if __name__ == "__main__":
    main()
