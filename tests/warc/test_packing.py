import gzip
import io
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trawl_core.errors import ConfigError
from trawl_core.sites import Compression, parse_sites
from trawl_core.warc.format import RECORD_END
from trawl_core.warc.members import read_members
from trawl_core.warc.packing import LONG_BYTES, packing_of
from trawl_core.warc.reader import iter_records

ISAL = packing_of(Compression())
ZLIB_NG = packing_of(Compression(library="zlib-ng"))
PACKERS = {
    "text": ISAL.text.main,
    "coded": ISAL.coded.main,
    "beside text": ISAL.text.beside,
    "beside coded": ISAL.coded.beside,
    "zlib-ng": ZLIB_NG.text.main,
}
# Around where the head that is packed ends, and where a stored block is full.
SIZES = [0, 1, 1_195, 1_196, 1_200, 65_535, 66_735, 66_736, 200_000, LONG_BYTES, LONG_BYTES + 1, LONG_BYTES + 400_000]
NOISE = b"".join(bytes((n * n + n // 251) % 256 for n in range(start, start + 1000)) for start in range(0, 1_500_000, 1000))


@pytest.mark.parametrize("name", PACKERS)
@pytest.mark.parametrize("size", SIZES)
def test_a_record_is_one_whole_member(name, size):
    head, block = b"WARC/1.1\r\nContent-Length: %d\r\n\r\n" % size, NOISE[:size]
    pieces = list(PACKERS[name].member(head, block))
    assert (len(pieces) > 1) == (size > LONG_BYTES)
    (member,) = read_members(io.BytesIO(b"".join(pieces)))
    assert member.data == head + block + RECORD_END
    assert gzip.decompress(b"".join(pieces)) == member.data


@given(st.binary(max_size=400), st.lists(st.binary(max_size=100_000), max_size=4))
def test_a_wrapped_member_of_any_pieces_holds_them(head, blocks):
    stream = ISAL.coded.main.begin()
    member = b"".join([stream.compress(part) for part in (head, *blocks)]) + stream.flush()
    assert gzip.decompress(member) == head + b"".join(blocks)


def test_a_coded_body_grows_by_little_and_is_found_as_it_is():
    coded = gzip.compress(NOISE[:100_000], mtime=0)
    member = b"".join(ISAL.coded.main.member(b"WARC/1.1\r\n" * 100, coded))
    assert len(member) < len(coded) + 200
    assert coded[2_000:60_000] in member


@pytest.mark.parametrize("library", ["isal", "zlib-ng"])
def test_warcinfo_says_how_a_file_is_packed(new_archive, make, library):
    archive = new_archive()
    settings = Compression.model_validate({"library": library})
    archive.writer = archive.new_writer(packing=packing_of(settings))
    archive.add(make.exchange(make.ok(b"<p>text</p>" * 1_000)))
    archive.finish()
    warcinfo, response, *_ = iter_records(archive.lake, archive.warc_names[0])
    assert f"trawl-compression: gzip, {library} level {settings.level}\r\n".encode() in warcinfo.block
    assert response.payload == b"<p>text</p>" * 1_000


def test_zlib_ng_makes_text_smaller():
    html = b"".join(b"<li><a href='/page-%d'>Page %d of all</a></li>" % (n * n, n) for n in range(2_000))
    small, quick = (len(b"".join(packing.text.main.member(b"", html))) for packing in (ZLIB_NG, ISAL))
    assert small < quick


def test_without_zlib_ng_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "zlib_ng", None)
    with pytest.raises(ConfigError, match=r"compression.library is zlib-ng .*pip install 'trawl\[zlib-ng\]'"):
        packing_of(Compression(library="zlib-ng"))


SITES = 'user_agent: "TrawlBot/1.0 (+https://example.org/bot)"\nsites:\n  - domain: a.test\n    seeds: [https://a.test/]\n    compression: {%s}\n'


@pytest.mark.parametrize(
    ("written", "library", "level"),
    [("", "isal", 2), ("level: 3", "isal", 3), ("library: zlib-ng", "zlib-ng", 6), ("library: zlib-ng, level: 9", "zlib-ng", 9)],
)
def test_a_site_says_how_its_archive_is_packed(written, library, level):
    (site,) = parse_sites(SITES % written).sites
    assert (site.compression.library, site.compression.level) == (library, level)


@pytest.mark.parametrize(
    ("written", "message"),
    [
        ("level: 4", "level 4 is none of isal's: they go from 0 to 3"),
        ("library: zlib-ng, level: 0", "level 0 is none of zlib-ng's: they go from 1 to 9"),
        ("library: zstd", "library"),
    ],
)
def test_a_level_or_library_that_is_none_is_named_with_its_line(written, message):
    with pytest.raises(ConfigError, match=rf"^sites.yaml:\d+: .*{message}"):
        parse_sites(SITES % written)
