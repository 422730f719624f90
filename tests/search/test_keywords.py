"""The keyword half: any input is a harmless query, and a filter is part of the match."""

import sqlite3
from contextlib import closing
from datetime import date

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from trawl_core.errors import DiskFullError
from trawl_core.search import keywords
from trawl_core.search.keywords import MAX_QUERY_WORDS, best_rows, match_expression, scores_of_rows, spaced, write_keywords

EVERYTHING = (1, 10**9)


def chunk(number, url, text, heading="", title=""):
    return {
        "chunk_id": number,
        "url": url,
        "capture_id": f"capture-{number}",
        "crawl_date": date(2026, 11, 29),
        "title": title,
        "position": 0,
        "start_char": 0,
        "end_char": len(text),
        "heading": heading,
        "text": text,
    }


@pytest.fixture(scope="module")
def connection(tmp_path_factory):
    path = tmp_path_factory.mktemp("keywords") / "keywords.sqlite"

    def fill(writer):
        writer.add_domain(
            "a.test", [chunk(1, "https://a.test/1", "queues and NEAR misses"), chunk(2, "https://a.test/2", "日本語の接続プール")], {}
        )
        writer.add_domain(
            "b.test", [chunk(3, "https://b.test/1", "a queue of letters", heading="Café"), chunk(4, "https://b.test/1", "other")], {}
        )

    writer = write_keywords(path, fill)
    assert (writer.rows, writer.pages) == (4, 3)
    with closing(sqlite3.connect(path)) as connection:
        yield connection


def found(connection, query, rows=EVERYTHING):
    expression = match_expression(query)
    return set(best_rows(connection, expression, rows, 10)) if expression else set()


def test_words_are_stemmed_and_any_of_them_matches(connection):
    assert found(connection, "queueing zebra") == {1, 3}


def test_function_words_count_only_alone(connection):
    assert found(connection, "the letters and how") == {3}
    assert found(connection, "and") == {1}


def test_accents_and_headings_count(connection):
    assert found(connection, "cafe") == {3}


def test_range_of_rows_is_part_of_the_match(connection):
    first, last = connection.execute("SELECT first_row, last_row FROM domain WHERE domain = 'b.test'").fetchone()
    assert list(best_rows(connection, match_expression("queue"), (first, last), 1)) == [3]


def test_operators_are_words(connection):
    assert found(connection, 'NEAR("zebra"') == {1}
    assert found(connection, "queue NOT letters") == {1, 3}
    assert found(connection, "text : zebra*") == set()


def test_scripts_without_spaces_match_by_part(connection):
    assert found(connection, "接続") == {2}
    assert found(connection, "続接") == set()
    assert spaced("a接b") == "a 接 b"


@pytest.mark.parametrize("query", ["", "   ", '"', "***", "()", "\0"])
def test_query_without_a_word_has_no_expression(query):
    assert match_expression(query) is None


def test_very_long_query_is_bounded(connection):
    expression = match_expression(" ".join(f"word{n}" for n in range(5000)))
    assert expression.count(" OR ") == MAX_QUERY_WORDS - 1
    assert best_rows(connection, expression, EVERYTHING, 5) == {}


@given(st.text(max_size=80))
@example('queue" OR words MATCH "')
@example("queue') ; DROP TABLE chunk; --")
@example("{heading title} : ^queue + NEAR(a b, 5)")
@example("_ ª ² ½ ǅ \u0345 \u200d")
def test_no_input_breaks_the_query_or_reaches_its_syntax(connection, query):
    expression = match_expression(query.encode("utf-8", "replace").decode())
    if expression is not None:
        assert set(best_rows(connection, expression, EVERYTHING, 10)) <= {1, 2, 3, 4}
        assert set(scores_of_rows(connection, expression, [1, 2, 3, 4])) == set(best_rows(connection, expression, EVERYTHING, 10))


@given(
    st.lists(
        st.sampled_from(["queue", "letters", "NEAR", "OR", "AND", "NOT", '"', "*", "(", ")", ":", "^", "-", "{", "}", "+", ","]),
        max_size=12,
    )
)
def test_every_word_of_the_query_counts_whatever_stands_between(connection, parts):
    expected = set()
    if "queue" in parts:
        expected |= {1, 3}
    if "letters" in parts:
        expected |= {3}
    if "NEAR" in parts:
        expected |= {1}
    if "AND" in parts and not expected:
        expected = {1}
    assert found(connection, " ".join(parts)) - {4} == expected


def test_scores_of_given_rows_equal_those_of_the_best(connection):
    expression = match_expression("queue letters")
    best = best_rows(connection, expression, EVERYTHING, 10)
    assert best[3] > best[1]
    assert scores_of_rows(connection, expression, [1, 2, 3]) == best


def test_same_rows_give_the_same_bytes(tmp_path):
    def fill(writer):
        writer.add_domain("a.test", [chunk(n, f"https://a.test/{n}", f"page {n} of the queue") for n in range(300)], {})

    for name in ("one", "two"):
        write_keywords(tmp_path / name, fill)
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()


def test_full_disk_is_said_so(tmp_path, monkeypatch):
    monkeypatch.setattr(keywords, "_LAYOUT", keywords._LAYOUT + "PRAGMA max_page_count = 20;")

    def fill(writer):
        writer.add_domain("a.test", [chunk(n, f"https://a.test/{n}", "text " * 500) for n in range(100)], {})

    with pytest.raises(DiskFullError, match=r"keyword index .*disk is full"):
        write_keywords(tmp_path / "full", fill)
