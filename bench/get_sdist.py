"""Source distributions as test material: many projects ship their built HTML documentation in them, release after release.

`python -m bench.get_sdist FOLDER NAME==VERSION …` saves the archives. The index, the proxy and the certificates are those of
pip's own configuration; no build step of the distribution runs, which `pip download` could not promise.
"""

from __future__ import annotations

import sys
import tarfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pip._internal.commands.download import DownloadCommand

_BLOCK_BYTES = 1 << 18


class SdistError(Exception):
    """A source distribution that can't be had; the message is for a person."""


def fetch_sdists(folder: Path, pins: Iterable[str]) -> list[Path]:
    """Archives of `pins` (`name==version`) in `folder`, in that order; one that lies there already is not fetched again.

    Raises SdistError when the index has no source distribution of that version or does not hand it over.
    """
    from pip._internal.commands import create_command

    folder.mkdir(parents=True, exist_ok=True)
    return [_fetch(create_command("download"), folder, pin) for pin in pins]


def _fetch(command: DownloadCommand, folder: Path, pin: str) -> Path:
    kept = folder / f"{pin}.path"  # remembers the archive's name, so that a second run needs no index
    if kept.exists() and (archive := folder / kept.read_text().strip()).exists():
        return archive
    from pip._internal.req.constructors import install_req_from_line

    options, _ = command.parse_args(["-qqq", "--no-deps", "--no-binary=:all:", pin])
    with command.main_context():
        session = command.get_default_session(options)
        wanted = install_req_from_line(pin)
        found = command._build_package_finder(options, session).find_best_candidate(wanted.name, wanted.specifier).best_candidate
        if found is None:
            raise SdistError(f"fetching {pin}: pip's index offers no source distribution of it. Check pip's index settings.")
        archive = folder / found.link.filename
        with session.get(found.link.url_without_fragment, stream=True) as answer:
            if not answer.ok:
                raise SdistError(f"fetching {pin}: the index answered {answer.status_code}. Try again later.")
            _save(answer.iter_content(_BLOCK_BYTES), archive)
    kept.write_text(archive.name)
    return archive


def _save(blocks: Iterator[bytes], archive: Path) -> None:
    """Write beside and rename, so that a broken download never looks finished."""
    beside = archive.with_name(archive.name + ".incomplete")
    with beside.open("wb") as file:
        file.writelines(blocks)
    beside.replace(archive)


def unpack(archive: Path, folder: Path) -> Path:
    """The archive's single top folder, unpacked below `folder` once."""
    with tarfile.open(archive) as tar:
        top = folder / tar.getnames()[0].split("/", 1)[0]
        done = top / ".unpacked"
        if not done.exists():
            tar.extractall(folder, filter="data")
            done.touch()
    return top


if __name__ == "__main__":
    for path in fetch_sdists(Path(sys.argv[1]), sys.argv[2:]):
        print(path)
