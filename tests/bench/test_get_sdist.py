"""bench.get_sdist keeps what it has fetched and unpacks it once."""

from __future__ import annotations

import tarfile

import pytest

from bench.get_sdist import fetch_sdists, unpack


def make_archive(folder):
    tree = folder / "thing-1.0" / "doc"
    tree.mkdir(parents=True)
    (tree / "index.html").write_text("hello")
    archive = folder / "thing-1.0.tar.gz"
    with tarfile.open(archive, "w:gz") as tar:
        tar.add(folder / "thing-1.0", "thing-1.0")
    return archive


def test_an_archive_that_lies_there_is_not_asked_for_again(tmp_path, monkeypatch):
    archive = make_archive(tmp_path)
    (tmp_path / "thing==1.0.path").write_text(archive.name)
    monkeypatch.setenv("PIP_INDEX_URL", "http://127.0.0.1:1/")
    assert fetch_sdists(tmp_path, ["thing==1.0"]) == [archive]


def test_unpacking_happens_once(tmp_path):
    archive = make_archive(tmp_path)
    top = unpack(archive, tmp_path / "out")
    page = top / "doc" / "index.html"
    assert (top.name, page.read_text()) == ("thing-1.0", "hello")
    page.write_text("kept")
    assert unpack(archive, tmp_path / "out") == top
    assert page.read_text() == "kept"


def test_a_member_outside_the_folder_is_refused(tmp_path):
    archive = tmp_path / "evil.tar.gz"
    (tmp_path / "file").write_text("x")
    with tarfile.open(archive, "w:gz") as tar:
        tar.add(tmp_path / "file", "evil/../../outside")
    with pytest.raises(tarfile.FilterError):
        unpack(archive, tmp_path / "out" / "deep")
    assert not (tmp_path / "outside").exists()
