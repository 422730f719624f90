import pytest
from hypothesis import given
from hypothesis import strategies as st

from trawl_core.extract.mapping.dates import iso_8601


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2024-05-06", "2024-05-06"),
        (" 2024-05-06T10:00:00Z ", "2024-05-06T10:00:00+00:00"),
        ("2024-05-06T10:00:00+02:00", "2024-05-06T10:00:00+02:00"),
        ("2024-05-06T10:00:00+0200", "2024-05-06T10:00:00+02:00"),
        ("2024-05-06T10:00:00+02", "2024-05-06T10:00:00+02:00"),
        ("2024-05-06T10:00:00.000-05:00", "2024-05-06T10:00:00-05:00"),
        ("2024-05-06T10:00:00.25Z", "2024-05-06T10:00:00.250000+00:00"),
        ("2024-05-06T10:00", "2024-05-06T10:00:00"),
        ("2024-05-06 9:05:07", "2024-05-06T09:05:07"),
        ("2024-05-06 10:00:00 UTC", "2024-05-06T10:00:00+00:00"),
        ("2024-05-06T10:00:00+02:00[Europe/Berlin]", "2024-05-06T10:00:00+02:00"),
        ("20240506", "2024-05-06"),
        ("2024-05", "2024-05"),
        ("2024", "2024"),
        ("2024/5/6", "2024-05-06"),
        ("6.5.2024", "2024-05-06"),
        ("May 6, 2024", "2024-05-06"),
        ("6 May 2024", "2024-05-06"),
        ("6th of May", None),
        ("Sept. 1st, 2024", "2024-09-01"),
        ("May 6, 2024 9:30 +0200", "2024-05-06T09:30:00+02:00"),
        ("Mon, 06 May 2024 10:00:00 +0200", "2024-05-06T10:00:00+02:00"),
        ("13/11/2025 09:21:40", "2025-11-13T09:21:40"),
        ("11/13/2025", "2025-11-13"),
        ("05/06/2024", None),
        ("2024-02-30", None),
        ("2024-05-06T25:00", None),
        ("yesterday", None),
        ("", None),
        ("May 6, 2024" + " " * 5 + "or later", None),
    ],
)
def test_one_form_for_what_pages_write(text, expected):
    assert iso_8601(text) == expected


@given(st.datetimes(timezones=st.none() | st.timezones()).map(lambda moment: moment.replace(second=0)))
def test_iso_comes_back_the_same(moment):
    offset = moment.utcoffset()
    if offset is None or not offset.total_seconds() % 60:
        assert iso_8601(moment.isoformat()) == moment.isoformat()


@given(st.text(alphabet="0123456789-/:.TZ+ MaySept,", max_size=40) | st.text(max_size=80))
def test_any_text_is_a_date_or_none(text):
    found = iso_8601(text)
    assert found is None or iso_8601(found) == found
