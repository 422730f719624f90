from hypothesis import given, settings
from hypothesis import strategies as st

from trawl_core.fetch import taken
from trawl_core.fetch.taken import SHORT_BYTES, Taken


@given(st.lists(st.integers(0, 3 * SHORT_BYTES), max_size=5))
@settings(max_examples=15, deadline=None)
def test_what_was_written_comes_back(sizes: list[int]) -> None:
    buffer, written = Taken(), bytearray()
    for number, size in enumerate(sizes):
        block = bytes([number + 1]) * size
        assert buffer.write(block) == size
        written += block
        assert len(buffer) == len(written)
    value = buffer.value()
    assert value == written
    assert isinstance(value, bytes) == (len(written) <= SHORT_BYTES)


def test_it_grows_also_where_pages_can_not_be_moved(monkeypatch) -> None:
    class Fixed(taken.mmap.mmap):
        def resize(self, size: int) -> None:
            raise SystemError("mmap: resizing not available--no mremap()")

    monkeypatch.setattr(taken.mmap, "mmap", Fixed)
    buffer = Taken()
    for number in range(12):
        buffer.write(bytes([number]) * SHORT_BYTES)
    assert buffer.value() == b"".join(bytes([number]) * SHORT_BYTES for number in range(12))
