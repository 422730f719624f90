"""Event: when, where, with whom, and what a ticket costs."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from trawl_core.extract.mapping.offers import offers, sums_up, terms
from trawl_core.extract.mapping.organization import address
from trawl_core.extract.mapping.reader import ItemReader

STATUS = terms("EventScheduled EventCancelled EventPostponed EventRescheduled EventMovedOnline")
ATTENDANCE = terms("OfflineEventAttendanceMode OnlineEventAttendanceMode MixedEventAttendanceMode")


def event(item: ItemReader) -> dict[str, Any]:
    name, start, end = item.text("name"), item.date("startDate"), item.date("endDate")
    if name is None:
        item.problem("name", "missing")
    if start is None and item.text("startDate") is None:
        item.problem("startDate", "missing")
    if start and end and _is_before(end, start):
        item.problem("endDate", f"{end} lies before the start, {start}")
    found = offers(item)
    return {
        "name": name,
        "description": item.text("description"),
        "start": start,
        "end": end,
        "status": item.term("eventStatus", STATUS),
        "attendance": item.term("eventAttendanceMode", ATTENDANCE),
        **_location(item),
        "organizer": item.text("organizer"),
        "performers": item.texts("performer", "performers"),
        "url": item.url("url", "mainEntityOfPage") or item.identity,
        "images": item.urls("image"),
        **sums_up(found),
        "offers": found,
    }


def _location(item: ItemReader) -> dict[str, Any]:
    """location (its name), location_address and location_url; for one without a name, the address in one piece is the name."""
    places = item.items("location")
    name = item.text("location")
    if not places:
        if name is None:
            item.problem("location", "missing")
        return {"location": name}
    place = address(places[0])
    return {"location": name, "location_address": place, "location_url": places[0].url("url", "sameAs")}


def _is_before(one: str, other: str) -> bool:
    """False for moments that can't be compared: a zone on one side only, or a day beside an hour of it."""
    try:
        first, second = datetime.fromisoformat(one), datetime.fromisoformat(other)
    except ValueError:  # a month or a year
        return False
    if (first.tzinfo is None) != (second.tzinfo is None) or len(one) == 10 or len(other) == 10:
        return first.date() < second.date() if abs((first.replace(tzinfo=None) - second.replace(tzinfo=None)).days) > 1 else False
    return first < second
