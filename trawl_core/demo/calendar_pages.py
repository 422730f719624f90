"""Month pages of an events calendar: each links the month before and the month after, for ever."""

from __future__ import annotations

import calendar
import random

_WHAT = (
    "Spoon carving for beginners",
    "Repair café for lamps and toasters",
    "Sharpening day: bring your knives",
    "Open pottery, second firing",
    "Basket weaving with green willow",
    "Talk on beeswax and its smells",
    "Mending wool without shame",
    "Whetstones compared, a quiet evening",
    "Seed swap and soil testing",
    "Bookbinding in three folds",
    "Ash splitting by hand",
    "Candle dipping for families",
    "Linseed paint, mixing and patience",
    "Clock cleaning with the watchmaker",
    "Grafting old apple sorts",
    "Casting hooks from scrap brass",
)
_WHERE = (
    "in the tannery yard",
    "under the market hall",
    "at the school workshop",
    "on the upper floor of the mill",
    "beside the boat shed",
    "in the station waiting room",
    "behind the chapel",
    "at the old ice house",
    "in our own workshop",
)
_BRING = (
    "an apron and dry shoes",
    "something that has been broken since spring",
    "a jar with a lid",
    "gloves if you have them",
    "a cushion, as the benches are hard",
    "nothing but time",
    "a friend who cooks",
    "your grandmother's tools",
    "paper and a soft pencil",
)


def calendar_page(year: int, month: int) -> tuple[str, str]:
    """(title, main part as HTML); the same for the same month on every night."""
    rng = random.Random(year * 12 + month)
    name = f"{calendar.month_name[month]} {year}"
    days = sorted(rng.sample(range(1, 29), 5))
    rows = "\n".join(
        f"<li>{day} {name}: {what} {rng.choice(_WHERE)}, from {rng.randint(9, 19)} o'clock. Bring {rng.choice(_BRING)}. "
        f"{rng.randint(4, 40)} places.</li>"
        for day, what in zip(days, rng.sample(_WHAT, 5), strict=True)
    )
    return f"Events in {name}", (
        f"<h1>Events in {name}</h1>\n<ul>\n{rows}\n</ul>\n"
        f'<p><a href="{_path(year, month, -1)}">Month before</a> <a href="{_path(year, month, 1)}">Month after</a></p>'
    )


def _path(year: int, month: int, step: int) -> str:
    year, month = divmod(year * 12 + month - 1 + step, 12)
    return f"/events/{year % 10_000:04d}/{month + 1:02d}"
