"""Takes the README's pictures from a running UI: `python docs/img/take.py [URL]`, 1600 px wide, written beside this file.

The UI is the demo's: `make demo`, then `TRAWL_HOME=data/demo make dev` in another terminal. Needs Chromium and the development tools.
"""

from __future__ import annotations

import json
import shutil
import sys
import urllib.request
from pathlib import Path

from playwright.sync_api import Page, sync_playwright

FOLDER = Path(__file__).parent
ARGS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-sync", "--no-first-run"]
GROUPS = ("crawl", "extraction", "duplicates", "changes", "search", "catalog")
PARTITIONS = '{ assetNodeOrError(assetKey: {path: ["pages"]}) { ... on AssetNode { partitionKeys } } }'


def newest_partition(url: str) -> str:
    request = urllib.request.Request(f"{url}/graphql", json.dumps({"query": PARTITIONS}).encode(), {"Content-Type": "application/json"})
    with urllib.request.urlopen(request) as answer:
        keys = json.load(answer)["data"]["assetNodeOrError"]["partitionKeys"]
    newest = max(key.split("|")[0] for key in keys)
    return min(key for key in keys if key.startswith(newest))


def hide_sidebars(page: Page) -> None:
    page.get_by_text("Hide navigation").click()
    jump = page.get_by_placeholder("Jump to…").bounding_box()
    if jump is not None:
        page.mouse.click(jump["x"] + jump["width"] + 24, jump["y"] + jump["height"] / 2)


def asset_graph(page: Page, url: str) -> None:
    """Every group open, the whole graph in the picture."""
    page.goto(f"{url}/asset-groups")
    page.get_by_text(GROUPS[0], exact=True).first.wait_for()
    page.keyboard.press("Alt+KeyE")
    page.wait_for_url("**expanded=**")
    hide_sidebars(page)
    page.goto(page.url)
    page.get_by_text("faiss_index", exact=True).wait_for()
    page.wait_for_timeout(3000)  # the graph moves into place
    page.screenshot(path=FOLDER / "asset-graph.png")


def pages_asset(page: Page, url: str) -> None:
    """A partition of `pages` with its row count and sample rows."""
    day, domain = newest_partition(url).split("|")
    page.goto(f"{url}/assets/pages?view=partitions&partition={day}%7C{domain}")
    page.get_by_text("dagster/row_count").wait_for()
    page.wait_for_timeout(1000)
    page.screenshot(path=FOLDER / "pages-asset.png")


def main(url: str) -> None:
    chromium = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=ARGS)
        page = browser.new_page(viewport={"width": 1600, "height": 900})
        asset_graph(page, url)
        pages_asset(page, url)
        browser.close()


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "http://127.0.0.1:3000")
