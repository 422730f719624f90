import base64

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from trawl_core.warc.request_body import appended, body_query

PARTS = (
    b'--x\r\nContent-Disposition: form-data; name="a"\r\n\r\none\r\n'
    b'--x\r\nContent-Disposition: form-data; name="f"; filename="f.bin"\r\nContent-Type: application/octet-stream\r\n\r\n\x00\xff\r\n--x--\r\n'
)


def binary(data):
    return "__wb_post_data=" + base64.b64encode(data).decode()


@pytest.mark.parametrize(
    ("kind", "body", "query"),
    [
        ("application/x-www-form-urlencoded; charset=utf-8", b"a=1&b=x%20y+z", "a=1&b=x y z"),
        ("application/x-www-form-urlencoded", b"a=\xff", binary(b"a=\xff")),
        ("application/json", b'{"a": 1, "b": {"c": [true, null]}, "a2": "x y"}', "a=1&c=True&c.2_=None&a2=x+y"),
        ("application/json", b'{"a": 1}\n{"a": 2}', "a=1&a.2_=2"),
        ("application/json", b"{", ""),
        ("text/plain", b'{"a": 1}', "a=1"),
        ("text/plain", b"hello", binary(b"hello")),
        ("multipart/form-data; boundary=x", PARTS, "a=one&f=%00%FF"),
        ("multipart/form-data", PARTS, binary(PARTS)),
        ("application/octet-stream", b"\x00", binary(b"\x00")),
        (None, b"", "__wb_post_data="),
    ],
)
def test_a_body_becomes_a_query(kind, body, query):
    assert body_query(kind, body) == query


def test_the_query_goes_behind_the_url():
    assert appended("http://a.test/x", "POST", "a=1") == "http://a.test/x?__wb_method=POST&a=1"
    assert appended("http://a.test/x?y", "PUT", "") == "http://a.test/x?y&__wb_method=PUT"


@settings(deadline=None)
@given(
    st.sampled_from(["application/json", "text/plain", "multipart/form-data; boundary=x", "application/x-www-form-urlencoded"]), st.binary()
)
def test_no_body_breaks_it(kind, body):
    assert len(body_query(kind, body)) <= 4096


def test_a_deep_document_is_no_query():
    assert body_query("application/json", b"[" * 100_000) == ""
