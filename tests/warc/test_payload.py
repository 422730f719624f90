import gzip
import zlib
from itertools import pairwise

import brotli
import pytest
from hypothesis import given
from hypothesis import strategies as st

from trawl_core.warc.content_coding import Decoded, content_fault
from trawl_core.warc.payload import decode_content

TEXT = b"".join(b"<p>paragraph %d of a page about reefs</p>\n" % number for number in range(400))
CAP = 1 << 20


def raw_deflate(data: bytes) -> bytes:
    encoder = zlib.compressobj(wbits=-zlib.MAX_WBITS)
    return encoder.compress(data) + encoder.flush()


@pytest.mark.parametrize(
    ("coding", "payload"),
    [
        (None, TEXT),
        ("", TEXT),
        ("identity", TEXT),
        ("gzip", gzip.compress(TEXT)),
        ("X-GZIP", gzip.compress(TEXT)),
        ("deflate", zlib.compress(TEXT)),
        ("deflate", raw_deflate(TEXT)),
        ("br", brotli.compress(TEXT)),
        ("gzip", gzip.compress(TEXT[:1000]) + gzip.compress(TEXT[1000:])),
        ("gzip", gzip.compress(TEXT) + b"surplus"),
        ("gzip", gzip.compress(b"") + gzip.compress(TEXT) + b"surplus"),
        ("br, gzip", gzip.compress(brotli.compress(TEXT))),
    ],
)
def test_a_whole_document_comes_back(coding: str | None, payload: bytes) -> None:
    assert decode_content(payload, coding, CAP) == (TEXT, None)


@pytest.mark.parametrize(("coding", "encode"), [("gzip", gzip.compress), ("deflate", zlib.compress), ("br", brotli.compress)])
def test_the_cap_is_exact(coding: str, encode) -> None:
    assert decode_content(encode(TEXT), coding, len(TEXT)) == (TEXT, None)
    assert decode_content(encode(TEXT), coding, len(TEXT) - 1) == (TEXT[:-1], "length")


def test_the_cap_holds_without_a_coding_and_across_members() -> None:
    assert decode_content(TEXT, None, 10) == (TEXT[:10], "length")
    assert decode_content(gzip.compress(TEXT) * 3, "gzip", len(TEXT) * 2) == (TEXT * 2, "length")


@pytest.mark.parametrize(("coding", "encode"), [("gzip", gzip.compress), ("deflate", zlib.compress), ("br", brotli.compress)])
def test_a_cut_stream_gives_what_came_and_says_so(coding: str, encode) -> None:
    payload = encode(TEXT)
    document, reason = decode_content(payload[: len(payload) * 3 // 4], coding, CAP)
    assert reason == "unspecified"
    assert TEXT.startswith(document)
    assert coding == "br" or document


def test_a_wrong_checksum_keeps_the_text() -> None:
    payload = bytearray(gzip.compress(TEXT))
    payload[-6] ^= 0xFF
    assert decode_content(bytes(payload), "gzip", CAP) == (TEXT, "unspecified")


@pytest.mark.parametrize("coding", ["gzip", "deflate", "br"])
def test_bytes_in_another_coding_stay_as_they_are(coding: str) -> None:
    assert decode_content(TEXT, coding, CAP) == (TEXT, f"not {coding}")


def test_an_unknown_coding_is_named() -> None:
    assert decode_content(TEXT, "utf-8", CAP) == (TEXT, "unknown coding utf-8")


def test_no_body_is_no_fault() -> None:
    assert decode_content(b"", "gzip", CAP) == (b"", None)


@given(st.binary(max_size=300), st.sampled_from(["gzip", "deflate", "br", "gzip, br", None, "zstd"]), st.integers(0, 400))
def test_no_bytes_make_it_raise_or_pass_the_cap(payload: bytes, coding: str | None, cap: int) -> None:
    document, _ = decode_content(payload, coding, cap)
    assert len(document) <= cap


@given(st.binary(max_size=2000), st.integers(0, 2200))
def test_gzip_round_trip_under_any_cap(document: bytes, cap: int) -> None:
    assert decode_content(gzip.compress(document), "gzip", cap) == (document[:cap], None if len(document) <= cap else "length")


MEMBERS = st.lists(st.binary(max_size=300), min_size=1, max_size=3).map(lambda parts: b"".join(map(gzip.compress, parts)))


@given(MEMBERS, st.sampled_from([b"", b"xx", b"\x1f", b"\x1f\x8b"]), st.integers(0, 20))
def test_the_fault_is_found_without_keeping_the_document(members: bytes, tail: bytes, missing: int) -> None:
    payload = (members + tail)[: len(members + tail) - missing]
    assert content_fault([payload], "gzip", CAP) == decode_content(payload, "gzip", CAP)[1]


def test_faults_of_a_bomb() -> None:
    size = 5 << 20
    bomb = gzip.compress(bytes(size))
    assert content_fault([bomb], "x-gzip", size) is None
    assert content_fault([bomb], "gzip", size - 1) == "length"
    assert content_fault([bomb + bomb], "gzip", 2 * size) is None
    assert content_fault([bomb + bomb], "gzip", 2 * size - 1) == "length"
    assert content_fault([bomb[:-1]], "gzip", size) == "unspecified"


@pytest.mark.parametrize(
    ("coding", "fault"), [("gzip", "not gzip"), ("deflate", "not deflate"), ("zstd", "unknown coding zstd"), (None, None)]
)
def test_faults_of_plain_text(coding: str | None, fault: str | None) -> None:
    assert content_fault([TEXT], coding, CAP) == fault
    assert content_fault([b""], "gzip", CAP) is None


CODED = st.sampled_from(["gzip", "deflate", "br", "gzip, br", "deflate, gzip", "zstd", None])


@given(CODED, st.binary(max_size=400), st.lists(st.integers(0, 500), max_size=4), st.integers(0, 500), st.integers(0, 500))
def test_however_a_payload_comes_in_pieces_it_is_decoded_the_same(
    coding: str | None, document: bytes, cuts: list[int], damaged: int, cap: int
) -> None:
    encode = {"gzip": gzip.compress, "deflate": raw_deflate, "br": brotli.compress}
    payload = document
    for name in (coding or "").split(", "):
        payload = encode.get(name, bytes)(payload)
    if damaged < len(payload):
        payload = payload[:damaged] + bytes([payload[damaged] ^ 0x5A]) + payload[damaged + 1 :]
    places = [0, *sorted(cuts), len(payload)]
    decoded = Decoded([payload[start:end] for start, end in pairwise(places)], coding, cap)
    pieces = b"".join(decoded)
    whole, fault = decode_content(payload, coding, cap)
    if coding is not None and "br" in coding and fault is not None:
        # brotli gives nothing of the block in which it meets an error.
        assert pieces[: len(whole)] == whole[: len(pieces)] or "not br" in (fault, decoded.fault)
    else:
        assert (pieces, decoded.fault) == (whole, fault)


def test_long_documents_come_in_small_pieces() -> None:
    size = 40 << 20
    for coding, payload in (("gzip", gzip.compress(bytes(size), 1)), ("deflate", zlib.compress(bytes(size), 1))):
        pieces = list(Decoded([payload], coding, size - 1))
        assert (sum(map(len, pieces)), max(map(len, pieces)) <= 1 << 18) == (size - 1, True)
    twice = gzip.compress(gzip.compress(bytes(size), 1))
    assert sum(map(len, Decoded([twice], "gzip, gzip", size))) == size


def test_a_coding_between_does_not_grow_beyond_the_cap() -> None:
    decoded = Decoded([gzip.compress(gzip.compress(b"") * 10_000)], "gzip, gzip", 1000)
    assert (b"".join(decoded), decoded.fault) == (b"", "length")
