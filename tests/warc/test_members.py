import gzip
import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trawl_core.warc.members import MemberFault, inflate, read_members


class Trickle:
    """Gives at most `step` bytes a read, as a network file may."""

    def __init__(self, data, step):
        self._file, self._step = io.BytesIO(data), step

    def read(self, size):
        return self._file.read(min(size, self._step))


@given(st.lists(st.binary(max_size=3_000), max_size=6), st.integers(1, 64))
def test_members_are_told_apart_however_the_bytes_arrive(parts, step):
    packed = [gzip.compress(part, mtime=0) for part in parts]
    found = list(read_members(Trickle(b"".join(packed), step)))
    assert [member.data for member in found] == parts
    assert [member.length for member in found] == [len(part) for part in packed]
    assert [member.offset for member in found] == [sum(map(len, packed[:number])) for number in range(len(packed))]


def test_every_cut_and_every_flipped_checksum_bit_is_a_fault():
    member = gzip.compress(b"some words, some more words", mtime=0)
    for cut in range(1, len(member)):
        with pytest.raises(MemberFault):
            inflate(member[:cut])
        with pytest.raises(MemberFault) as fault:
            list(read_members(io.BytesIO(member + member[:cut])))
        assert fault.value.offset == len(member)
    for place in range(len(member) - 8, len(member)):
        damaged = bytearray(member)
        damaged[place] ^= 1
        with pytest.raises(MemberFault):
            inflate(bytes(damaged))


def test_bytes_behind_a_member_are_a_fault():
    with pytest.raises(MemberFault, match="4 bytes follow"):
        inflate(gzip.compress(b"x", mtime=0) + b"more")
