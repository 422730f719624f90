"""Stage `changes`: one row for each URL of the night that has an event."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import replace

from trawl_core.changes.decide import Change, compare_pages
from trawl_core.changes.diff import Edit, diff_blocks
from trawl_core.changes.noise import TemplateEdit, edits_of_page, find_template_edits
from trawl_core.changes.previous import Answer, answers_before, complete, decisive_answers, earlier_good_pages, good_pages
from trawl_core.changes.version import GONE, GOOD, MOVED, PageVersion, has_same_body
from trawl_core.errors import LakeError
from trawl_core.lake import tables
from trawl_core.lake.earlier import build_after_earlier
from trawl_core.lake.layout import Lake, Partition


def detect_changes(lake: Lake, partition: Partition) -> tables.StageResult:
    """Commit `changes` and `template_edits` of one crawl date and domain, after those of earlier dates that lack them.

    Raises LakeError when the night, or one of those, has captures but no `pages` yet.
    """
    return build_after_earlier(lake, "changes", "captures", partition, lambda one: _detect(lake, one))


def _detect(lake: Lake, partition: Partition) -> tables.StageResult:
    answers = decisive_answers(lake, partition)
    if answers and not tables.has(lake, "pages", partition):
        raise LakeError(
            f"looking for changes of {partition.domain} on {partition.crawl_date}: its captures were not extracted yet. "
            "Materialize `pages` of that partition, then `changes` again."
        )
    before = answers_before(lake, partition, answers)
    pages = good_pages(lake, partition, (url for url, answer in answers.items() if answer.status in GOOD))
    pages = {url: page for url, page in pages.items() if page.capture_id == answers[url].capture_id}
    pages, previous = _paired(lake, partition, pages, before)
    pairs = [
        (_standing(previous.get(url), before.get(url)), pages.get(url) or _bodiless(url, answer))
        for url, answer in sorted(answers.items())
        if url in pages or answer.status not in GOOD
    ]
    diffs = {new.url: diff_blocks(old.hashes, new.hashes) for old, new in pairs if old is not None and _to_compare(old, new)}
    template = _template(pairs, diffs)
    known = {edit.edit for edit in template}
    changes = [change for old, new in pairs if (change := compare_pages(old, new, known, diff=diffs.get(new.url)))]
    committed = (
        tables.commit(lake, "changes", partition, [change.row() for change in changes]),
        tables.commit(lake, "template_edits", partition, [_template_row(edit) for edit in template]),
    )
    return tables.StageResult(committed, _facts(answers, pairs, changes, template))


def _paired(
    lake: Lake, partition: Partition, pages: dict[str, PageVersion], before: dict[str, Answer]
) -> tuple[dict[str, PageVersion], dict[str, PageVersion]]:
    """Tonight's pages, complete where they have to be compared, and the version of each URL to compare with.

    That is the newest earlier good page. One without main content (a failure that called itself 200) or with a body that broke
    off is passed over when there is an older one to compare with. A URL that gave no answer `before` has none.
    """
    previous: dict[str, PageVersion] = {}
    stopgap: dict[str, PageVersion] = {}
    domain = str(partition.domain)
    wanted = set(before)
    for found in earlier_good_pages(lake, partition, before):
        if not wanted:
            break
        candidates = {url: version for url, version in found.items() if url in wanted}
        differing = [url for url, old in candidates.items() if url in pages and not has_same_body(old, pages[url])]
        unread = [pages[url] for url in differing if not pages[url].payload_digest]
        pages.update({version.url: version for version in complete(lake, domain, unread).values()})
        candidates.update({old.url: old for old in complete(lake, domain, [candidates[url] for url in differing]).values()})
        for url, old in candidates.items():
            if url in pages and _is_stopgap(old, pages[url]):
                stopgap.setdefault(url, old)
            else:
                previous[url] = old
        wanted -= previous.keys()
    return pages, {**stopgap, **previous}


def _is_stopgap(old: PageVersion, new: PageVersion) -> bool:
    return not has_same_body(old, new) and (old.incomplete or (new.has_main and not old.has_main))


def _standing(version: PageVersion | None, answer: Answer | None) -> PageVersion | None:
    """The earlier version, told by which later answer its URL left, if it did."""
    if version is None or answer is None or answer.status not in (*GONE, *MOVED):
        return version
    return replace(version, left_status=answer.status, left_to=answer.redirect)


def _bodiless(url: str, answer: Answer) -> PageVersion:
    """Tonight's answer of a URL that is gone or moved."""
    return PageVersion(
        url=url, status=answer.status, crawl_date=answer.crawl_date, capture_id=answer.capture_id, final_url=answer.redirect or url
    )


def _to_compare(old: PageVersion, new: PageVersion) -> bool:
    return new.status in GOOD and not has_same_body(old, new) and not new.incomplete and (new.has_main or not old.has_main)


def _template(pairs: Iterable[tuple[PageVersion | None, PageVersion]], diffs: dict[str, list[Edit]]) -> list[TemplateEdit]:
    edits = {new.url: edits_of_page(old, new, diffs[new.url]) for old, new in pairs if old is not None and new.url in diffs}
    return find_template_edits(edits)


def _template_row(found: TemplateEdit) -> dict[str, object]:
    return {
        "op": found.edit.op,
        "hash": found.edit.hash,
        "text": found.edit.text,
        "pages": found.pages,
        "changed_pages": found.changed_pages,
        "samples": list(found.samples),
    }


def _facts(
    answers: dict[str, Answer], pairs: list[tuple[PageVersion | None, PageVersion]], changes: list[Change], template: list[TemplateEdit]
) -> dict[str, object]:
    events = Counter(change.event for change in changes)
    return {
        "urls": len(answers),
        "unchanged": len(pairs) - len(changes),
        "events": dict(sorted(events.items())),
        "template_pages": sum("template" in change.kinds for change in changes),
        "template_edits": len(template),
    }
