"""The site of bench.replay sends what it says."""

from __future__ import annotations

import http.client
import re

from bench.wire_site import Wire, WireSite, serve
from trawl_core.warc.http_message import parse_response


def test_each_framing_carries_the_body():
    body = bytes(range(256)) * 10
    for framing in ("length", "chunked", "close"):
        message = parse_response(Wire(body, framing=framing).data)
        assert (message.payload, message.status, message.faults) == (body, 200, ())
    assert parse_response(Wire(b"", framing="chunked").data).payload == b""


def test_every_page_is_linked_and_answers_and_a_validator_is_confirmed():
    site = WireSite(3)
    linked = re.findall(rb'href="([^"]+)"', site.answer("/", set()).body)
    assert len(linked) == len(set(linked)) > 25
    assert {site.answer(path.decode(), set()).status[:3] for path in linked} == {"200", "301", "302", "403", "404"}
    assert site.answer("/etag.html", {'"v1"'}).status == "304 Not Modified"
    assert site.answer("/etag.html", {'"v2"'}).status == "200 OK"


def test_it_serves_one_connection_after_another_and_turns_its_nights():
    with serve(WireSite(1), "127.0.0.1") as site:
        host = site.origin.removeprefix("http://")
        connection = http.client.HTTPConnection(host, timeout=5)
        bodies = []
        for night in (0, 1):
            site.night = night
            for path in ("/changing.html", "/etag.html", "/chunked.html"):
                connection.request("GET", path, headers={"If-None-Match": '"v1"'})
                answer = connection.getresponse()
                bodies.append((answer.status, answer.read()))
        connection.close()
    assert bodies[0] != bodies[3] and bodies[2] == bodies[5]
    assert bodies[1] == bodies[4] == (304, b"")
