"""BreadcrumbList: the way to a page, in the order of its positions."""

from __future__ import annotations

from typing import Any

from trawl_core.extract.mapping.reader import ItemReader


def breadcrumbs(item: ItemReader) -> dict[str, Any]:
    """`items`, each with position, name and url. Without a position they stand in the page's order, which is a problem."""
    steps: list[tuple[int, dict[str, Any]]] = []
    for place, step in enumerate(item.items("itemListElement"), start=1):
        steps.append((place, _step(step, place)))
    if not steps:
        item.problem("itemListElement", "missing")
    positions = [step["position"] for _, step in steps]
    if len(set(positions)) < len(positions):
        item.problem("itemListElement", "two steps have one position")
    return {"items": [step for place, step in sorted(steps, key=lambda one: (one[1]["position"], one[0]))]}


def _step(step: ItemReader, place: int) -> dict[str, Any]:
    targets = step.items("item")
    name = step.text("name") or next((text for text in (target.text("name", "title") for target in targets) if text), None)
    # The page itself often stands last, without a link.
    url = step.url("item") or step.url("url")
    if name is None:
        step.problem("name", f"missing at place {place}")
    position = step.number("position")
    if not isinstance(position, int):
        step.problem("position", f"missing at place {place}")
        position = place
    return {key: value for key, value in (("position", position), ("name", name), ("url", url)) if value is not None}
