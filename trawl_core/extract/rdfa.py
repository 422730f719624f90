"""RDFa as pages use it: RDFa Lite 1.1 (https://www.w3.org/TR/rdfa-lite/) with `content`, `datetime` and `about`.

Elements with `typeof` are items, `property` gives them values, `resource`, `about`, `href` and `src` tell what an item or a
value is. Statements about one resource from several places of a page make one item.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

from selectolax.lexbor import LexborHTMLParser, LexborNode

from trawl_core.extract.item_text import BEYOND, ItemText
from trawl_core.extract.items import Item, add_value, short_type
from trawl_core.extract.microdata import MAX_ITEMS, MAX_NESTING
from trawl_core.urls.normalize import normalize_url

# Where `schema:name` is what others write as `name`: https://www.w3.org/2011/rdfa-context/rdfa-1.1
_SCHEMA = re.compile(r"(?:schema:|https?://(?:www\.)?schema\.org/)(?=[\w-]+$)")
_BEARING = "[typeof], [property], [about], [resource], [vocab]"


@dataclass
class _Subject:
    fields: dict[str, Any] = field(default_factory=dict)
    is_part: bool = False
    nesting: int = 0


@dataclass(frozen=True)
class _Scope:
    """What an element hands down: the subject that its properties belong to, and the vocabulary of bare terms."""

    subject: _Subject | None = None
    vocabulary: str = ""


def rdfa_items(tree: LexborHTMLParser, url: str) -> list[Item]:
    """Items that are no property of another, in document order; none for a page without `typeof`."""
    if tree.css_first("[typeof]") is None:
        return []
    return _Reader(url).read(tree)


class _Reader:
    def __init__(self, url: str) -> None:
        self.url = url
        # What the elements looked at hand down, by their identity: the way up ends at the first that is known.
        self.scopes: dict[int, _Scope] = {}
        self.subjects: list[_Subject] = []
        self.by_id: dict[str, _Subject] = {}
        self.problems: list[str] = []
        self.text = ItemText()

    def read(self, tree: LexborHTMLParser) -> list[Item]:
        for node in tree.css(_BEARING):
            # lexbor gives a node once for each part of the selector that it matches.
            if node.mem_id not in self.scopes:
                self._element(node, self._scope_above(node))
        typed = [subject for subject in self.subjects if "@type" in subject.fields and not subject.is_part]
        items = [Item("rdfa", short_type(subject.fields["@type"]), subject.fields) for subject in typed]
        return [*items, *(Item("rdfa", None, None, (problem,)) for problem in dict.fromkeys(self.problems))]

    def _scope_above(self, node: LexborNode) -> _Scope:
        way = []
        scope = _Scope()
        above = node.parent
        while above is not None:
            known = self.scopes.get(above.mem_id)
            if known is not None:
                scope = known
                break
            way.append(above.mem_id)
            above = above.parent
        for passed in way:
            self.scopes[passed] = scope
        return scope

    def _element(self, node: LexborNode, above: _Scope) -> None:
        attributes = node.attributes
        vocabulary = (attributes["vocab"] or "").strip() if "vocab" in attributes else above.vocabulary
        names = [_bare(name) for name in (attributes.get("property") or "").split()]
        kinds = [_expanded(kind, vocabulary) for kind in (attributes.get("typeof") or "").split()]
        parent = above.subject
        about = self._reference(attributes, "about")
        if "about" in attributes and about is not None and not kinds:
            parent = self._subject(about)
        subject = parent
        if "typeof" in attributes:
            if len(self.subjects) >= MAX_ITEMS:
                self.problems.append(f"more than {MAX_ITEMS} items: the others were left out")
                subject = None
            else:
                subject = self._typed(attributes, kinds, names, above.subject, about)
        elif names:
            self._values(node, attributes, names, parent)
        elif (resource := self._reference(attributes, "resource")) is not None:
            subject = self._subject(resource)
        self.scopes[node.mem_id] = _Scope(subject, vocabulary)

    def _typed(
        self, attributes: dict[str, str | None], kinds: list[str], names: list[str], parent: _Subject | None, about: str | None
    ) -> _Subject:
        identity = about or self._reference(attributes, "resource", "href", "src")
        subject = self._subject(identity)
        for kind in kinds:
            if kind not in _listed(subject.fields.get("@type")):
                add_value(subject.fields, "@type", kind)
        if parent is None or parent is subject or not names:
            return subject
        if subject.is_part or _has_parts(subject) or parent.nesting >= MAX_NESTING:
            # What has parts could hold `parent`, and items in a circle can't be written.
            value: Any = {"@id": identity} if identity else None
        else:
            subject.is_part, subject.nesting, value = True, parent.nesting + 1, subject.fields
        if value is not None:
            for name in names:
                add_value(parent.fields, name, value)
        return subject

    def _subject(self, identity: str | None) -> _Subject:
        """The one subject of an identity; a new one without."""
        if identity is not None and identity in self.by_id:
            return self.by_id[identity]
        subject = _Subject()
        if identity is not None:
            subject.fields["@id"] = identity
            self.by_id[identity] = subject
        self.subjects.append(subject)
        return subject

    def _values(self, node: LexborNode, attributes: dict[str, str | None], names: list[str], subject: _Subject | None) -> None:
        if subject is None:
            return
        value = self._value(node, attributes)
        for name in names:
            add_value(subject.fields, name, value)

    def _value(self, node: LexborNode, attributes: dict[str, str | None]) -> str | None:
        if attributes.get("content") is not None:
            return attributes["content"] or ""
        if attributes.get("datetime") is not None:
            return attributes["datetime"] or ""
        if (reference := self._reference(attributes, "resource", "href", "src")) is not None:
            return reference
        if node.tag == "data" and attributes.get("value") is not None:
            return attributes["value"] or ""
        text = self.text.of(node)
        if text is None:
            self.problems.append(BEYOND)
        return text

    def _reference(self, attributes: dict[str, str | None], *names: str) -> str | None:
        """The first of these attributes as an absolute URL; what `resource` and `about` name may be a part of a page (`#me`)."""
        for name in names:
            if (reference := attributes.get(name)) is not None:
                target = normalize_url(reference, self.url) or reference
                mark = reference.find("#") if name in ("resource", "about") else -1
                return target if mark < 0 or "#" in target else f"{target}{reference[mark:].rstrip()}"
        return None


def _has_parts(subject: _Subject) -> bool:
    return any(isinstance(one, dict) for value in subject.fields.values() for one in _listed(value))


def _bare(name: str) -> str:
    return _SCHEMA.sub("", name)


def _expanded(kind: str, vocabulary: str) -> str:
    return kind if ":" in kind else f"{vocabulary}{kind}"


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [] if value is None else [value]
