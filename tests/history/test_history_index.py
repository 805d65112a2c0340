"""The index saves reading runs again. It may be deleted, damaged, or impossible to write: the page is the same."""

import os
import shutil
import sqlite3
import subprocess
import sys
import time

import history_runs as runs
import processes
import pytest

from runner.compare import changes
from runner.compare import runs as reader
from runner.history.index import Index

PLAIN = runs.environment("a")
TWO = [([runs.timed(0, 10)], PLAIN), ([runs.timed(0, 11, binary="n")], PLAIN)]


@pytest.fixture
def work(monkeypatch):
    """What is read and compared: the names of runs."""
    done = []
    read, compare = reader.read, changes.compare

    def reading(paths):
        done.extend(f"read {path.name[:2]}" for path in paths)
        return read(paths)

    def comparing(base, other, step):
        done.append(f"compare {base.folder.path.name[:2]} {other.folder.path.name[:2]}")
        return compare(base, other, step)

    monkeypatch.setattr(reader, "read", reading)
    monkeypatch.setattr(changes, "compare", comparing)
    return done


def test_only_what_changed_is_read_and_compared_again(history, work, tmp_path):
    """Unchanged runs are neither read nor compared; a new, a changed and a deleted one cost what depends on them."""
    first = history(TWO)
    assert sorted(work) == ["compare 00 01", "read 00", "read 01"]
    work.clear()
    assert history.again().text == first.text
    assert work == []
    (new,) = runs.write_all(tmp_path / "outputs", [([runs.timed(0, 12, binary="m")], PLAIN)], first=2)
    assert len(runs.data(history.again().text)["lines"][0]["steps"]) == 2
    assert sorted(work) == ["compare 01 02", "read 02"]
    work.clear()
    table = new / "results.csv"
    table.write_text(table.read_text().replace("ok", "crashed", 1))
    assert runs.data(history.again().text)["lines"][0]["failed"] == {"2": "crashed"}
    assert sorted(work) == ["compare 01 02", "read 02"]
    work.clear()
    shutil.rmtree(new)
    assert history.again().text == first.text
    with sqlite3.connect(tmp_path / "outputs" / ".history.sqlite") as index:
        assert index.execute("SELECT count(*) FROM entry WHERE run LIKE '%02-00-00%'").fetchone() == (0,)


def other_version(path):
    """An index of a later version, whose table has other columns."""
    path.unlink()
    with sqlite3.connect(path) as index:
        index.execute("CREATE TABLE entry (a TEXT)")
        index.execute("PRAGMA user_version = 99")


def other_content(path):
    """An index whose entries are not what this version writes."""
    with sqlite3.connect(path) as index:
        index.execute("""UPDATE entry SET content = '{"cells": [[1]], "steps": 3}'""")


DAMAGES = {
    "deleted": lambda path: path.unlink(),
    "empty": lambda path: path.write_bytes(b""),
    "not a database": lambda path: path.write_text("not a database " * 100),
    "cut off": lambda path: path.write_bytes(path.read_bytes()[:5000]),
    "overwritten inside": lambda path: path.write_bytes(path.read_bytes()[:4096] + b"\xff" * (path.stat().st_size - 4096)),
    "of another version": other_version,
    "of other content": other_content,
}  # fmt: skip


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES)
def test_an_index_that_cannot_be_used_is_made_again_without_a_word(damage, history, work, tmp_path):
    """The page and the words are the same, and afterwards the index serves again."""
    first = history(TWO)
    damage(tmp_path / "outputs" / ".history.sqlite")
    again = history.again()
    assert (again.code, again.text, again.out, again.err) == (0, first.text, first.out, first.err)
    work.clear()
    history.again()
    assert work == []


def link(path):
    """A link to a file of somebody else."""
    path.with_name("theirs").write_text("theirs")
    path.symlink_to("theirs")


OBSTACLES = {"a folder": lambda path: path.mkdir(), "a pipe": os.mkfifo, "a link": link}


@pytest.mark.parametrize("obstacle", OBSTACLES.values(), ids=OBSTACLES)
def test_without_an_index_it_works_and_says_so(obstacle, history, tmp_path):
    """Where no index can be kept, one sentence says so, and nothing else is touched."""
    (tmp_path / "outputs").mkdir()
    obstacle(tmp_path / "outputs" / ".history.sqlite")
    done = history(TWO)
    assert done.code == 0
    assert len(runs.data(done.text)["lines"][0]["steps"]) == 1
    sentence = (
        "outputs/.history.sqlite: no index can be kept here (not a regular file), so every run is read each time."
    )
    assert done.out.count(sentence) == 1
    assert not (tmp_path / "outputs" / "theirs").exists() or (tmp_path / "outputs" / "theirs").read_text() == "theirs"


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_that_cannot_be_written_needs_another_file(history, tmp_path):
    """There the page can be written elsewhere, without an index."""
    history(TWO)
    for name in (".history.sqlite", "index.html"):
        (tmp_path / "outputs" / name).unlink()
    (tmp_path / "outputs").chmod(0o555)
    try:
        assert history.again().code == 2
        done = history.again("--to", "page.html")
    finally:
        (tmp_path / "outputs").chmod(0o755)
    assert (done.code, done.out.count("no index can be kept here")) == (0, 1)


PUT = """
import sys
from pathlib import Path
from runner.history.index import Index
with Index(Path(sys.argv[1])) as index:
    for number in range(50):
        index.put({"worker": sys.argv[2]}, "stamp", f"{sys.argv[2]}-{number}")
    sys.exit(1 if index.problem else 0)
"""


def test_several_processes_may_use_it(tmp_path):
    """No entry of any of them is lost."""
    Index(tmp_path).__enter__().__exit__()
    command = [sys.executable, "-c", PUT, str(tmp_path)]
    workers = [subprocess.Popen([*command, name], env=processes.environment()) for name in "ab"]
    assert [worker.wait(processes.PATIENCE_S) for worker in workers] == [0, 0]
    with Index(tmp_path) as index:
        assert all(index.get("stamp", f"{name}-{k}") == {"worker": name} for name in "ab" for k in range(50))


def test_a_busy_index_is_not_waited_for_without_end(tmp_path, monkeypatch):
    """An entry that cannot be written, because another program holds the file, is left out, and a sentence says so."""
    monkeypatch.setattr("runner.history.index.WAIT_S", 0.05)
    with Index(tmp_path) as index, sqlite3.connect(tmp_path / ".history.sqlite", isolation_level=None) as other:
        other.execute("BEGIN EXCLUSIVE")
        started = time.monotonic()
        index.put(1, "stamp", "run")
        assert "database is locked" in index.problem
        assert index.get("stamp", "run") is None
        assert time.monotonic() - started < 30
