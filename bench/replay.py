"""Every capture replayed: a crawl of two nights, exported, served by pywb and compared with what the server sent.

`python -m bench.replay [--quick]` installs pywb, cdxj-indexer and py-wacz under bench/.cache, crawls a site of gzip, chunks,
redirects, errors, equal bodies and 304s on loopback for two nights, and checks four things: `trawl export cdxj` equals what
cdxj-indexer writes, `wacz validate` accepts `trawl export wacz` of each selection, pywb over the whole archive and pywb over
the second night's WACZ alone serve each capture's body byte for byte. `--quick` crawls fewer pages.
"""

from __future__ import annotations

import argparse
import gzip
import http.client
import os
import shutil
import socket
import subprocess
import sys
import time
import zipfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import date
from pathlib import Path
from typing import Any
from urllib.parse import quote

from bench.measure import Bar, print_rows, report
from bench.wire_site import WireSite, serve
from trawl_core.lake import Lake, Partition, tables
from trawl_core.warc.payload import decode_content
from trawl_core.warc.reader import payload_of_capture, read_payload

CACHE = Path(__file__).parent / ".cache" / "replay"
# pywb 2.10 still asks for pkg_resources, which setuptools gave up in 81.
PEERS = ("pywb==2.10.0", "cdxj-indexer==1.5.0", "wacz==0.6.0", "setuptools<81")
HOST = "127.0.0.6"
NIGHTS = (date(2026, 11, 1), date(2026, 11, 2))
PAGES, QUICK_PAGES = 400, 40
STARTS_WITHIN_S = 60.0
DECODED_BYTES = 50_000_000
TRAWL = (sys.executable, "-c", "import sys; from trawl_core.cli import main; sys.exit(main())")


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.replay", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="fewer pages")
    quick = parser.parse_args().quick
    peers = _peers()
    home = CACHE / "home"
    shutil.rmtree(home, ignore_errors=True)
    home.mkdir(parents=True)
    with serve(WireSite(QUICK_PAGES if quick else PAGES), HOST) as site:
        (home / "sites.yaml").write_text(_sites_yaml(site.origin))
        for number in range(len(NIGHTS)):
            site.night = number
            _trawl(home, number, "crawl")
    lake = Lake(home / "lake")
    captures = [row for day in NIGHTS for row in tables.read(lake, "captures", Partition(day, HOST)).to_pylist() if _is_whole(row)]
    print_rows("What was archived", _kinds(captures))
    index = _trawl(home, 1, "export", "cdxj")
    differing = _differing_lines(peers, home, lake, index)
    whole, second = home / "whole.wacz", home / "second.wacz"
    _trawl(home, 1, "export", "wacz", "--output", str(whole))
    _trawl(home, 1, "export", "wacz", "--date", str(NIGHTS[1]), "--output", str(second))
    (home / "whole.cdxj").write_text(index)
    archived = _replayed(peers, home / "pywb-lake", lake, captures, home / "whole.cdxj", _folders(lake))
    packed = _replayed(
        peers, home / "pywb-wacz", lake, [row for row in captures if row["crawl_date"] == NIGHTS[1]], *_unpacked(second, home / "unpacked")
    )
    for title, rows in (("pywb over the archive", archived), ("pywb over the second night's WACZ alone", packed)):
        print_rows(f"{title}: what differs", [row for row in rows if row["fault"]] or [{"all": len(rows), "": "byte-identical"}])
    bars = {
        "captures_replayed": Bar(len(archived), at_least=len(captures)),
        "captures_differing": Bar(sum(bool(row["fault"]) for row in archived), at_most=0),
        "revisits_replayed": Bar(sum(row["type"] != "response" for row in archived), at_least=QUICK_PAGES if quick else PAGES),
        "wacz_captures_differing": Bar(sum(bool(row["fault"]) for row in packed), at_most=0),
        "cdxj_lines": Bar(index.count("\n"), at_least=len(captures)),
        "cdxj_lines_differing": Bar(differing, at_most=0),
        "wacz_invalid": Bar(sum(not _is_valid(peers, file) for file in (whole, second)), at_most=0),
        "wacz_pages": Bar(min(_page_count(file) for file in (whole, second)), at_least=QUICK_PAGES if quick else PAGES),
    }
    return report("replay", bars, {"peers": PEERS, "kinds": _kinds(captures)})


# the peers -------------------------------------------------------------------------------------------------


def _peers() -> Path:
    """The folder of the peers' commands, in an environment of their own; made once."""
    venv = CACHE / "venv"
    stamp = venv / "installed"
    if not stamp.exists() or stamp.read_text() != "\n".join(PEERS):
        print("installing the peers …", file=sys.stderr, flush=True)
        shutil.rmtree(venv, ignore_errors=True)
        try:
            subprocess.run([sys.executable, "-m", "venv", venv], check=True)
            subprocess.run([venv / "bin" / "python", "-m", "pip", "install", "--quiet", *PEERS], check=True)
        except subprocess.CalledProcessError:
            raise SystemExit(f"bench.replay could not install {', '.join(PEERS)} into {venv}; what pip said stands above.") from None
        stamp.write_text("\n".join(PEERS))
    return venv / "bin"


def _differing_lines(peers: Path, home: Path, lake: Lake, index: str) -> int:
    files = [lake.path(name) for name in lake.files("warc", ".warc.gz")]
    done = subprocess.run([peers / "cdxj-indexer", "--sort", "--post-append", *files], capture_output=True, text=True, check=True)
    (home / "peer.cdxj").write_text(done.stdout)
    ours, theirs = index.splitlines(), done.stdout.splitlines()
    different = sorted(set(ours) ^ set(theirs))
    for line in different[:10]:
        print(("ours   " if line in ours else "theirs ") + line, file=sys.stderr)
    return len(different) or int(ours != theirs)


def _is_valid(peers: Path, file: Path) -> bool:
    done = subprocess.run([peers / "wacz", "validate", "-f", file], capture_output=True, text=True, check=False)
    if done.returncode:
        print(done.stdout + done.stderr, file=sys.stderr)
    return done.returncode == 0


def _page_count(file: Path) -> int:
    with zipfile.ZipFile(file) as package:
        lists = [package.read(name).decode().splitlines()[1:] for name in package.namelist() if name.startswith("pages/")]
    return sum(map(len, lists))


# the crawl -------------------------------------------------------------------------------------------------


def _sites_yaml(origin: str) -> str:
    return f"""user_agent: "TrawlBot/1.0 (+https://example.org/bot; crawl@example.org)"
first_crawl_date: {NIGHTS[0].isoformat()}
sites:
  - domain: {HOST}
    seeds: [{origin}/]
    delay_s: 0
    concurrency: 8
    host_concurrency: 8
    recrawl: {{max_age_days: 1}}
    network: {{allow_networks: [127.0.0.0/8], allow_ports: [{origin.rpartition(":")[2]}]}}
"""


def _trawl(home: Path, night: int, *arguments: str) -> str:
    print(f"trawl {' '.join(arguments)} …", file=sys.stderr, flush=True)
    environment = {
        **os.environ,
        "TRAWL_HOME": str(home),
        "TRAWL_NOW": f"{NIGHTS[night].isoformat()}T02:00:00Z",
        "DAGSTER_HOME": str(home / "dagster_home"),
    }
    done = subprocess.run([*TRAWL, *arguments], env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"trawl {' '.join(arguments)} ended with status {done.returncode}:\n{done.stdout[-2000:]}{done.stderr[-4000:]}")
    return done.stdout


def _is_whole(row: dict[str, Any]) -> bool:
    return row["warc_type"] is not None and row["content_truncated"] is None


def _kinds(captures: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """How many captures there are of each kind of record and status."""
    counts: dict[tuple[str, int], int] = {}
    for row in captures:
        kind = row["revisit_profile"] or row["warc_type"], row["fetch_status"]
        counts[kind] = counts.get(kind, 0) + 1
    return [{"record": record, "status": status, "captures": count} for (record, status), count in sorted(counts.items())]


# replay ----------------------------------------------------------------------------------------------------


def _folders(lake: Lake) -> list[Path]:
    return sorted({lake.local_path(name).parent for name in lake.files("warc", ".warc.gz")})


def _unpacked(file: Path, folder: Path) -> tuple[Path, list[Path]]:
    """Index and archive folders of a WACZ, as pywb takes them."""
    with zipfile.ZipFile(file) as package:
        package.extractall(folder)
    return folder / "indexes" / "index.cdx.gz", [folder / "archive"]


def _replayed(
    peers: Path, folder: Path, lake: Lake, captures: Sequence[dict[str, Any]], index: Path, archives: Sequence[Path]
) -> list[dict[str, Any]]:
    """A row for each capture, with what is wrong with its replay; None when it is the body that was archived."""
    folder.mkdir()
    if index.suffix == ".gz":
        index = _inflated(index, folder / "index.cdxj")
    listed = ", ".join(f"'{archive}/'" for archive in archives)
    (folder / "config.yaml").write_text(
        f"collections:\n  trawl:\n    index_paths: '{index}'\n    archive_paths: [{listed}]\nenable_auto_fetch: false\n"
    )
    with _pywb(peers, folder) as port:
        return [
            {"url": row["url"], "type": row["revisit_profile"] or row["warc_type"], "fault": _fault(lake, row, port)} for row in captures
        ]


def _inflated(index: Path, target: Path) -> Path:
    target.write_bytes(gzip.decompress(index.read_bytes()))
    return target


@contextmanager
def _pywb(peers: Path, folder: Path) -> Iterator[int]:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    log = (folder / "pywb.log").open("wb")
    process = subprocess.Popen([peers / "wayback", "--bind", "127.0.0.1", "--port", str(port)], cwd=folder, stdout=log, stderr=log)
    try:
        _wait(process, port, folder / "pywb.log")
        yield port
    finally:
        process.terminate()
        process.wait()
        log.close()


def _wait(process: subprocess.Popen[bytes], port: int, log: Path) -> None:
    until = time.monotonic() + STARTS_WITHIN_S
    while time.monotonic() < until and process.poll() is None:
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
        except OSError:
            time.sleep(0.1)
            continue
        return
    raise SystemExit(f"pywb did not start:\n{log.read_text(errors='replace')[-3000:]}")


def _fault(lake: Lake, row: dict[str, Any], port: int) -> str | None:
    """Fetched twice: as a browser asks, where the payload comes as it was sent, and without any coding allowed."""
    record = payload_of_capture(lake, row)
    own = row if row["revisit_profile"] != "server-not-modified" else None
    status = read_payload(lake, row["warc_filename"], row["warc_record_offset"], row["warc_record_length"]).status if own else record.status
    coding = record.header("Content-Encoding")
    document = decode_content(record.payload, coding, DECODED_BYTES)[0]
    path = f"/trawl/{row['fetch_time']:%Y%m%d%H%M%S}id_/{quote(row['url'], safe=':/?&=%+,;@~')}"
    for accepted in ("gzip, deflate", "identity"):
        got, coded, body = _get(port, path, accepted)
        if got != status:
            return f"status {got}, not {status} ({accepted})"
        if body != record.payload and (accepted != "identity" or decode_content(body, coded, DECODED_BYTES)[0] != document):
            return f"{len(body)} bytes, not {len(record.payload)} ({accepted})"
    return None


def _get(port: int, path: str, accepted: str) -> tuple[int, str | None, bytes]:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    try:
        connection.request("GET", path, headers={"Accept-Encoding": accepted})
        answer = connection.getresponse()
        return answer.status, answer.getheader("Content-Encoding"), answer.read()
    finally:
        connection.close()


if __name__ == "__main__":
    sys.exit(main())
