"""Every `$ trawl …` line of the README and the docs does what it shows."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from conftest import World

pytestmark = pytest.mark.xdist_group("two_nights")
ROOT = Path(__file__).parents[3]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
# They fetch, change sites.yaml or need files of others: the scenarios, and tests/cli, run them.
ELSEWHERE = ("crawl", "sites add", "import-warc", "extract ")


def _commands() -> list[tuple[str, str]]:
    found = []
    for page in PAGES:
        for block in re.findall(r"```(?:console|sh|bash)\n(.*?)```", page.read_text(), re.DOTALL):
            lines = re.sub(r"\\\n\s*", " ", block).splitlines()
            found += [(page.name, line.removeprefix("$ ").strip()) for line in lines if re.match(r"(\$ )?trawl ", line)]
    return found


def test_the_docs_show_commands() -> None:
    assert {name for _, command in _commands() for name in [command.split()[1]]} >= {
        "sites",
        "crawl",
        "sql",
        "search",
        "changes",
        "show",
        "verify",
    }


@pytest.mark.parametrize(("page", "command"), _commands(), ids=lambda value: value[:60])
def test_a_command_of_the_docs_runs(world: World, page: str, command: str, tmp_path: Path) -> None:
    words = shlex.split(command, comments=True)[1:]
    if ">" in words:
        words = words[: words.index(">")]
    url = world.demo.origins["docs"] + "/"
    words = [
        url if word == "URL" else word.replace("https://docs.example.org/", url).replace("docs.example.org", "127.0.0.2") for word in words
    ]
    if " ".join(words).startswith(ELSEWHERE) or "--rendered" in words:  # no page of these nights was rendered
        words = [*words, "--help"]
    if "&&" in words:
        words = words[: words.index("&&")]
    words = (
        [word for word in words if not re.fullmatch(r"\d{4}-\d\d-\d\d", word)]
        if "--date" not in words and "--as-of" not in words
        else words
    )
    if words[0] in ("export", "show"):  # of a night that there was
        words = [re.sub(r"^\d{4}-\d\d-\d\d$", "2026-03-02", word) for word in words]
    done = world.trawl(*words, check=False, cwd=tmp_path)
    assert done.returncode in ((0, 1) if words[0] == "status" else (0,)), f"{page}: {command}\n{done.stderr}"
    assert "Traceback" not in done.stderr
    assert "Warning" not in done.stderr


def test_links_of_the_docs_lead_somewhere() -> None:
    broken = [
        f"{page.name}: {target}"
        for page in PAGES
        for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text())
        if not (page.parent / target).exists()
    ]
    assert broken == []
