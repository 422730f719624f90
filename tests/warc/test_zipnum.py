import gzip
import json
from bisect import bisect_right

import pytest

from trawl_core.warc.zipnum import write_zipnum


def written(lines, block_lines=256):
    blocks = bytearray()
    return write_zipnum(lines, blocks.extend, "index.cdx.gz", block_lines), blocks


def looked_up(key, index, blocks):
    """The lines with that key, found as a player does: one block, then on while the next one begins with the key too."""
    heads = [line.split(" ", 1)[0] for line in index[1:]]
    found = []
    for place in range(max(bisect_right(heads, key) - 1 - heads.count(key), 0), len(heads)):
        at = json.loads(index[1 + place].split(" ", 2)[2])
        text = gzip.decompress(bytes(blocks[at["offset"] : at["offset"] + at["length"]])).decode()
        found += [line for line in text.splitlines() if line.split(" ", 1)[0] == key]
        if heads[place] > key:
            break
    return found


@pytest.mark.parametrize("count", [1, 255, 256, 257, 512, 1000])
def test_every_key_is_found(count):
    lines = [f'org,example)/{number:06} 20261130020000 {{"offset": "{number}"}}\n' for number in range(count)]
    index, blocks = written(lines)
    assert all(len(looked_up(f"org,example)/{number:06}", index, blocks)) == 1 for number in range(count))
    assert gzip.decompress(bytes(blocks)).decode() == "".join(lines)
    assert len(index) == 1 + -(-count // 256)


def test_a_key_that_fills_blocks_is_found_whole():
    lines = sorted(f"org,example)/{'same' if number > 2 else number} 2026{number:010} {{}}\n" for number in range(30))
    index, blocks = written(lines, block_lines=4)
    assert len(looked_up("org,example)/same", index, blocks)) == 27


def test_the_head_names_the_file_and_nothing_is_no_block():
    index, blocks = written([])
    assert index == ['!meta 0 {"format": "cdxj-gzip-1.0", "filename": "index.cdx.gz"}\n']
    assert not blocks
