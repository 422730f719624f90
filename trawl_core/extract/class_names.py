"""What the class and id of an element say about it: the words that are used for content, and for what stands beside it."""

from __future__ import annotations

import re
from functools import lru_cache

_BESIDE = re.compile(
    r"nav|menu|foot|side|comment|share|social|relat|breadcrumb|cookie|consent|widget|promo|banner|advert|sponsor|newsletter|subscribe|popup"
    r"|modal|login|signup|pagination|pager|toolbar|tags?\b|meta|recommend|popular|trending|disclaimer|copyright|skip|hidden|search|filter"
    r"|cart|rating"
)
_CONTENT = re.compile(
    r"article|content|post|entry|body|text|main|story|descr|detail|product|summary|message|answer|question|review|page|document|section|spec"
)


@lru_cache(maxsize=20_000)
def hints_of(class_names: str | None, element_id: str | None) -> tuple[bool, bool]:
    """Whether they name something beside the content, and whether they name content; both can be so."""
    names = f"{class_names or ''} {element_id or ''}".lower()
    return bool(_BESIDE.search(names)), bool(_CONTENT.search(names))
