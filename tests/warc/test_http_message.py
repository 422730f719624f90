import pytest
from hypothesis import given
from hypothesis import strategies as st

from trawl_core.warc.http_message import dechunk, parse_response


@given(st.lists(st.binary(min_size=1, max_size=50), max_size=8), st.sampled_from([b"", b";a=b", b' ; name="x"']), st.booleans())
def test_chunks_join_to_the_entity(parts, extension, trailer):
    body = b"".join(b"%X%s\r\n%s\r\n" % (len(part), extension, part) for part in parts)
    body += b"0\r\n" + (b"X-After: 1\r\n" if trailer else b"") + b"\r\n"
    assert dechunk(body) == (b"".join(parts), None)


@pytest.mark.parametrize(
    ("body", "entity", "fault"),
    [
        (b"5\r\nhello\r\n", b"hello", "cut off"),
        (b"5\r\nhel", b"hel", "cut off"),
        (b"", b"", "cut off"),
        (b"<html>plain</html>", b"<html>plain</html>", "the body is not"),
        (b"5\r\nhello\r\nnonsense" + b"x" * 40, b"hello", "no chunk size"),
        (b"5\nhello\n0\n\n", b"hello", None),
        (b"0005\r\nhello\r\n00000\r\n\r\n", b"hello", None),
    ],
)
def test_damaged_chunks_give_what_can_be_read(body, entity, fault):
    found, named = dechunk(body)
    assert found == entity
    assert (named is None) if fault is None else fault in named


@given(st.binary(max_size=400))
def test_no_block_is_an_error(block):
    message = parse_response(block)
    assert block.startswith(message.head)


def test_headers_are_read_leniently_and_in_order():
    wire = b"HTTP/1.1 200 Tr\xe8s bien\nA: 1\r\nno colon here\r\na:2\r\nFold: x\r\n\ty\r\nEmpty:\r\n\r\nbody\r\n\r\n"
    message = parse_response(wire)
    assert message.status == 200
    assert message.reason == "Tr\xe8s bien"
    assert message.headers == (("A", "1"), ("a", "2"), ("Fold", "x y"), ("Empty", ""))
    assert message.payload == b"body\r\n\r\n"
    assert message.faults == ()


def test_a_head_without_its_end_is_named():
    assert parse_response(b"HTTP/1.1 200 OK\r\nA: 1\r\n").faults == ("the HTTP head has no end",)
    assert "status line" in parse_response(b"<html>\n\n").faults[0]
