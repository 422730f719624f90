"""Where the records of other people's files begin and end, whatever is wrong with them."""

import gzip
import io
import zlib

import pytest
from backports import zstd
from hypothesis import given
from hypothesis import strategies as st

from trawl_core.warc import foreign_records as cutting
from trawl_core.warc.foreign_bytes import GZIP, is_zstd
from trawl_core.warc.foreign_records import Found, Gap, foreign_records
from trawl_core.warc.loose import digest_holds, loose_date, parse_loose


def record(number: int, block: bytes = b"a block", *fields: str, length: int | None = None, end: bytes = b"\r\n\r\n") -> bytes:
    head = ["WARC/1.0", "WARC-Type: resource", f"WARC-Record-ID: <urn:test:{number}>", "WARC-Date: 2020-01-02T03:04:05Z", *fields]
    head.append(f"Content-Length: {len(block) if length is None else length}")
    return "\r\n".join(head).encode() + b"\r\n\r\n" + block + end


def read(data: bytes):
    is_plain = not data.startswith(GZIP) and not is_zstd(data[:4])
    return list(foreign_records(io.BytesIO(data), is_plain=is_plain))


def blocks(data: bytes):
    return [parse_loose(one.data)[0].block for one in read(data) if isinstance(one, Found) and one.doubt is None]


THREE = [record(1), record(2, b"x" * 5000), record(3, b"")]
WHOLE = [b"a block", b"x" * 5000, b""]


@pytest.mark.parametrize(
    "data",
    [
        b"".join(THREE),
        b"".join(gzip.compress(one) for one in THREE),
        gzip.compress(b"".join(THREE)),
        zstd.compress(b"".join(THREE)),
        b"".join(zstd.compress(one) for one in THREE),
        b"\r\n\r\n" + b"\r\n".join(THREE) + b"\0" * 3000,
        b"".join(gzip.compress(one) for one in THREE) + b"\0" * 512,
        gzip.compress(b"".join(THREE)[:150]) + gzip.compress(b"".join(THREE)[150:]),
        b"".join(one.replace(b"\r\n", b"\n") for one in THREE),
        b"".join(one.removesuffix(b"\r\n") for one in THREE),
        b"".join(one.removesuffix(b"\r\n\r\n") + b"\n\n" for one in THREE),
        THREE[0] + b"junk that is no record\r\n" + THREE[1] + THREE[2],
        gzip.compress(THREE[0]) + b"junk" + gzip.compress(THREE[1]) + gzip.compress(b"") + gzip.compress(THREE[2]),
        record(1).replace(b"WARC/1.0", b"WARC/0.17") + record(2, b"x" * 5000).replace(b"1.0", b"1.1") + THREE[2],
    ],
    ids=["plain", "members", "one member", "one frame", "frames", "blank lines and zeros", "zeros behind members", "members that do not fit",
         "LF", "one empty line", "LF behind blocks", "junk between", "junk between members", "versions"],
)  # fmt: skip
def test_every_record_is_found_whatever_holds_them(data):
    assert blocks(data) == WHOLE


def test_a_record_is_told_to_have_a_range_only_when_it_has_one():
    for data in (b"".join(THREE), b"".join(gzip.compress(one) for one in THREE)):
        for found, whole in zip(read(data), WHOLE, strict=True):
            part = data[found.offset : found.offset + found.length]
            assert parse_loose(gzip.decompress(part) if part.startswith(GZIP) else part)[0].block == whole
    two_in_one = gzip.compress(THREE[0]) + gzip.compress(THREE[1] + THREE[2])
    assert [found.length is None for found in read(two_in_one)] == [False, True, True]


@pytest.mark.parametrize("length", [0, 3, 6, 7, 9, 10, 11, 12, 200, 5000, 10**9, 10**12])
def test_a_wrong_content_length_costs_no_other_record(length):
    wrong = record(1, b"a block\n", "WARC-Block-Digest: sha1:" + "0" * 40, length=length)
    found = [one for one in read(wrong + THREE[1] + THREE[2]) if isinstance(one, Found)]
    assert [parse_loose(one.data)[0].block for one in found][-2:] == WHOLE[1:]
    assert parse_loose(found[0].data)[1]


def test_the_block_digest_decides_between_two_lengths():
    block = b"a block"
    digest = "sha256:" + __import__("hashlib").sha256(block).hexdigest()
    for length in (len(block) + 1, len(block) + 2):
        found, faults = parse_loose(record(1, block, f"WARC-Block-Digest: {digest}", length=length))
        assert found.block == block
        assert f"Content-Length is {length}, the block has {len(block)} bytes by its digest" in faults


def test_the_http_head_decides_where_no_digest_does():
    block = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello"
    fields = ["Content-Type: application/http;msgtype=response"]
    for length in (len(block) - 1, len(block) + 1):
        data = record(1, block, *fields, length=length).replace(b"resource", b"response")
        found, faults = parse_loose(data)
        assert found.block == block, length
        assert faults


def test_a_record_without_a_usable_length_ends_where_the_next_begins():
    for value in ("", "-1", "12a", "9" * 30):
        data = record(1).replace(b"Content-Length: 7", f"Content-Length: {value}".encode())
        assert blocks(data + THREE[1]) == WHOLE[:2]
    assert "Content-Length is missing" in parse_loose(record(1).replace(b"Content-Length: 7\r\n", b""))[1]


def test_at_every_cut_of_a_file_the_records_before_it_are_found():
    plain, packed = b"".join(THREE), b"".join(gzip.compress(one) for one in THREE)
    for data, ends in ((plain, _ends(THREE)), (packed, _ends([gzip.compress(one) for one in THREE]))):
        for cut in range(1, len(data), 3):
            complete = sum(end - 4 <= cut for end in ends) if data is plain else sum(end <= cut for end in ends)
            assert blocks(data[:cut])[:complete] == WHOLE[:complete]
            assert len(blocks(data[:cut])) == complete, cut


def _ends(parts):
    return [sum(len(part) for part in parts[: index + 1]) for index in range(len(parts))]


@pytest.mark.parametrize("flip", [0x01, 0x55, 0x80, 0xFF])
def test_a_flipped_byte_costs_its_own_member_only(flip):
    members = [gzip.compress(one, mtime=1_796_000_000) for one in THREE]
    start = len(members[0])
    for position in range(start, start + len(members[1])):
        damaged = bytearray(b"".join(members))
        damaged[position] ^= flip
        found = blocks(bytes(damaged))
        assert (found[0], found[-1]) == (WHOLE[0], WHOLE[2]), position - start


def test_records_before_the_damage_of_one_member_are_found():
    many = [record(number, f"block {number} ".encode() * 40) for number in range(200)]
    stream = bytearray(zlib.compress(b"".join(many), 6, 31))
    stream[len(stream) * 3 // 4 : len(stream) * 3 // 4 + 20] = b"\0" * 20
    found = blocks(bytes(stream))
    assert len(found) > 100
    assert found[:100] == [f"block {number} ".encode() * 40 for number in range(100)]
    assert any(isinstance(one, Gap) and "damaged" in one.fault for one in read(bytes(stream)))


def test_zstd_with_a_dictionary_of_its_own_plain_or_packed():
    parts = [record(number, f"a page of the site, number {number}, and what all of them say".encode() * 20) for number in range(50)]
    dictionary = zstd.train_dict(parts, 4096)
    for content in (dictionary.dict_content, zstd.compress(dictionary.dict_content)):
        frames = b"".join(zstd.compress(part, zstd_dict=dictionary) for part in parts)
        data = b"\x5d\x2a\x4d\x18" + len(content).to_bytes(4, "little") + content + frames
        assert len(blocks(data)) == 50
        assert len(blocks(data[:-30])) == 49


def test_a_record_too_large_for_memory_is_passed_by(monkeypatch):
    monkeypatch.setattr(cutting, "MAX_RECORD", 4000)
    first, second, third = read(b"".join(THREE))
    assert isinstance(second, Gap)
    assert "5000 bytes" in second.fault
    assert [parse_loose(one.data)[0].block for one in (first, third)] == [b"a block", b""]


@given(
    st.lists(
        st.sampled_from([b"WARC/1.0\r\n", b"\r\n\r\n", b"Content-Length: 5\r\n", b"WARC-Type: x\r\n", b"\0\0", b"hello", b"\n"]),
        max_size=30,
    )
)
def test_no_bytes_make_it_fail(parts):
    data = b"".join(parts)
    for given_data in (data, gzip.compress(data), gzip.compress(data)[:-5], GZIP + data, b"\x28\xb5\x2f\xfd" + data):
        for one in read(given_data):
            assert isinstance(one, (Found, Gap))
            if isinstance(one, Found):
                parse_loose(one.data)


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        ("2020-01-02T03:04:05Z", "2020-01-02T03:04:05+00:00"),
        ("2020-01-02T03:04:05.123456789Z", "2020-01-02T03:04:05.123456+00:00"),
        ("2020-01-02T03:04:05-0800", "2020-01-02T11:04:05+00:00"),
        ("2020-01-02T03:04Z", "2020-01-02T03:04:00+00:00"),
        ("2020-01-02", "2020-01-02T00:00:00+00:00"),
        ("20200102030405", "2020-01-02T03:04:05+00:00"),
        ("5088968-11-06T12:31:23Z", None),
        ("2009-03-65T08:43:19-0800", None),
        ("2020", None),
        ("", None),
        (None, None),
    ],
)
def test_dates_in_their_spellings(text, moment):
    found = loose_date(text)
    assert (found and found.isoformat()) == moment


def test_digests_in_their_spellings():
    import base64
    import hashlib

    for name in ("sha1", "sha256", "md5", "sha512"):
        digest = hashlib.new(name, b"x").digest()
        for value in (digest.hex(), digest.hex().upper(), base64.b32encode(digest).decode(), base64.b64encode(digest).decode()):
            assert digest_holds(f"{name}:{value}", b"x") is True
            assert digest_holds(f"{name}:{value}", b"y") is False
    assert digest_holds("sha-256:" + hashlib.sha256(b"x").hexdigest(), b"x") is True
    for unknown in (None, "", "sha1", "sha1:", "crc32:abcd", "abcdef"):
        assert digest_holds(unknown, b"x") is None
