import base64
import hashlib
import uuid
from datetime import UTC, datetime
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trawl_core.warc.format import (
    capture_id_of,
    companion_id,
    escape_line,
    format_date,
    parse_date,
    record_urn,
    serialize,
    sha1_base32,
    target_uri,
    unescape_line,
    warc_fields,
)
from trawl_core.warc.record import parse_record

text = st.text(st.characters(codec="utf-8"))


@given(st.binary())
def test_escaped_bytes_are_one_printable_line_and_come_back(raw):
    line = escape_line(raw)
    assert line.isascii()
    assert line.isprintable()
    assert unescape_line(line) == raw


@given(text)
def test_target_uris_are_ascii_without_blanks_and_settled(url):
    uri = target_uri(url)
    assert uri.isascii()
    assert not any(character.isspace() for character in uri)
    assert target_uri(uri) == uri == quote(url, safe="!#$%&'()*+,/:;=?@[]~")


@given(st.datetimes(min_value=datetime(1970, 1, 1), max_value=datetime(9999, 1, 1)))  # noqa: DTZ001
def test_dates_keep_their_microseconds(naive):
    moment = naive.replace(tzinfo=UTC)
    assert parse_date(format_date(moment)) == moment


@pytest.mark.parametrize(
    ("written", "moment"),
    [
        ("2026-11-30T02:00:00Z", datetime(2026, 11, 30, 2, tzinfo=UTC)),
        ("2026-11-30T02:00:00.5Z", datetime(2026, 11, 30, 2, 0, 0, 500_000, tzinfo=UTC)),
        ("2026-11-30T02:00:00.123456789Z", datetime(2026, 11, 30, 2, 0, 0, 123_456, tzinfo=UTC)),
        ("2026-13-30T02:00:00Z", None),
        ("2026-11-30", None),
        ("20261130020000", None),
    ],
)
def test_dates_of_other_writers(written, moment):
    assert parse_date(written) == moment


@given(st.uuids())
def test_record_ids_lead_back_to_the_capture(identifier):
    assert capture_id_of(record_urn(str(identifier))) == str(identifier)
    assert companion_id(str(identifier), "request") != companion_id(str(identifier), "metadata")
    assert companion_id(str(identifier), "request") == str(uuid.uuid5(identifier, "request"))


@given(st.binary())
def test_digests_are_written_in_base32(data):
    assert sha1_base32(data) == base64.b32encode(hashlib.sha1(data).digest()).decode()


def test_other_record_ids_are_no_captures():
    assert capture_id_of("<http://example.org/id/1>") is None
    assert capture_id_of(None) is None


@given(st.lists(st.tuples(st.sampled_from(["X-One", "X-Two"]), text), max_size=5), st.binary(max_size=200))
def test_a_record_is_read_as_it_was_written_whatever_its_values_hold(fields, block):
    always = [("WARC-Type", "metadata"), ("WARC-Record-ID", record_urn(str(uuid.UUID(int=1)))), ("WARC-Date", "2026-11-30T02:00:00Z")]
    record = parse_record(serialize([*always, *fields], block))
    assert record.block == block
    assert [name for name, _ in record.fields] == [name for name, _ in always + fields] + ["Content-Length"]


@given(st.lists(text, max_size=4))
def test_a_value_never_makes_a_second_field(values):
    block = warc_fields((f"field-{number}", value) for number, value in enumerate(values))
    assert block.count(b"\r\n") == len(values) == block.count(b"\n")
