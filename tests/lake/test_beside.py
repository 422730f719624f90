from __future__ import annotations

import socket
import subprocess
import sys
from datetime import date
from pathlib import Path

from trawl_core.lake import Lake, Partition, tables
from trawl_core.lake.beside import beside, is_beside, sweep
from trawl_core.lake.catalog import connect, run_sql


def _dead_pid() -> int:
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait()
    return gone.pid


def _left_by(pid: int, host: str, target: Path) -> Path:
    path = target.with_name(f".{target.name}.{pid}~{host}-0123abcd.tmp")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"PAR1 half")
    return path


def test_a_half_written_table_is_no_partition(tmp_path: Path) -> None:
    lake, partition = Lake(tmp_path), Partition(date(2026, 3, 1), "docs.test")
    left = _left_by(_dead_pid(), socket.gethostname(), tmp_path / lake.table_name("pages", partition))
    assert lake.partitions("pages") == []
    assert tables.dates_of(lake, "pages") == []
    with connect(lake) as connection:
        assert run_sql(connection, "select count(*) as n from pages").to_pylist() == [{"n": 0}]
    assert left.exists()


def test_only_what_dead_processes_of_this_machine_left_is_removed(tmp_path: Path) -> None:
    target = tmp_path / "pages" / "part.parquet"
    dead = _left_by(_dead_pid(), socket.gethostname(), target)
    elsewhere = _left_by(_dead_pid(), "another-host", target)
    mine = beside(target)
    mine.write_bytes(b"")
    other = target.with_name(".hidden.tmp")
    other.write_bytes(b"")
    assert list(sweep(tmp_path)) == [dead]
    assert sorted(path for path in tmp_path.rglob("*") if path.is_file()) == sorted([elsewhere, mine, other])
    assert is_beside(f"pages/{mine.name}")
    assert not is_beside("pages/part.parquet")
