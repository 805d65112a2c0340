"""`runner history`: which runs are read, which file is written, and what it says. `runner list` has the same filter."""

import contextlib
import fcntl
import io
import os
import re
import urllib.parse
from pathlib import Path

import compare_runs
import history_runs as runs
import pytest

from runner.commands.list import main as list_runs
from runner.history.__main__ import main
from runner.history.page import MARK
from runner.history.words import as_value

PLAIN = runs.environment("a")
ONE = [([runs.timed(0, 10)], PLAIN)]


def links(page):
    """The files that the links of a page lead to."""
    texts = re.findall(r'href="([^"#]+)"', page.read_text("utf-8"))
    return [Path(os.path.normpath(page.parent / urllib.parse.unquote(text))) for text in texts if text != "data:,"]


def test_the_page_links_to_each_report(known):
    """Relative to the page, so that it works from a file; each run of the table has its own."""
    found = links(known.page)
    assert {path.parent.name for path in found} == {f"{n:02d}-00-00-run" for n in range(12)}
    assert all(path.is_file() for path in found)


def test_the_same_runs_give_the_same_page(known):
    """Nothing in it depends on the time of day, on the order of folders, or on the index."""
    before = known.page.read_bytes()
    (known.page.parent / ".history.sqlite").unlink()
    with contextlib.chdir(known.page.parents[1]), contextlib.redirect_stdout(io.StringIO()):
        assert main([]) == 0
    assert known.page.read_bytes() == before


def test_folders_and_patterns_choose_runs(history, tmp_path):
    """A pattern below `outputs` writes outputs/index.html, a folder its own, --to any file, with links that fit."""
    days = [([runs.timed(0, 10)], PLAIN)] * 25  # of two days
    history(days[:1])
    runs.write_all(tmp_path / "outputs", days[24:], first=24)
    assert "1 run, 1 case" in history.again("outputs/2026-01-02/*").out
    assert {path.parents[1].name for path in links(tmp_path / "outputs" / "index.html")} == {"2026-01-02"}
    assert "1 run, 1 case" in history.again("outputs/2026-01-01").out
    assert all(path.is_file() for path in links(tmp_path / "outputs" / "2026-01-01" / "index.html"))
    assert "2 runs, 1 case" in history.again("--to", "pages/mine.html").out
    found = links(tmp_path / "pages" / "mine.html")
    assert len(found) == 2
    assert all(path.is_file() for path in found)


def test_words_choose_the_cases_of_the_page(history):
    """A case is shown, in all its runs, if it matches all words in one of them."""
    rows = [runs.timed(0, 10, size=2**24), runs.timed(1, 5), runs.timed(2, 7, kernel="other")]
    done = history([(rows, PLAIN), ([*rows[:2], compare_runs.failed(2, kernel="other")], PLAIN)], "size=16Mi")
    assert "2 runs, 1 case, 0 real steps.\n" in done.out
    assert "reduceShfl, size 2^24" in done.text
    assert "2 runs, 1 case, 1 real step.\n" in history.again("failed").out
    assert "2 runs, 2 cases" in history.again("kernel=reduceShfl", "median_us<20").out
    done = history.again("kernel=nobodys")
    assert (done.code, done.out) == (0, "No run below outputs matches kernel=nobodys, so no page was written.\n")


def test_runs_that_cannot_be_used_are_named_and_left_out(history, tmp_path):
    """A running sweep and a damaged folder stop nothing; the page and the terminal say why they are missing."""
    history(ONE * 4)
    running, torn, deep = sorted((tmp_path / "outputs").glob("*/*/"))[1:]
    for folder in (running, torn):  # a run that was read before is shown as it was
        (folder / "results.csv").write_text((folder / "results.csv").read_text() + "\n")
    torn.joinpath("results.csv").write_text("kernel,status\nk")
    deep.joinpath("environment.json").write_text("[" * 100_000)
    with (running / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        done = history.again()
    assert done.code == 0
    assert "1 run, 1 case" in done.out
    assert done.out.count("Left out: ") == 3
    for words in ("01-00-00-run: is running", "02-00-00-run/results.csv, line", "03-00-00-run/environment.json"):
        assert words in done.out
        assert words in done.text
    assert "3 runs left out" in done.text


def test_a_page_of_somebody_else_stays(history, tmp_path):
    """An index.html that another program wrote is not overwritten, nor what a link leads to, nor a run's own files."""
    page = tmp_path / "outputs" / "index.html"
    page.parent.mkdir()
    page.write_text("mine")
    done = history(ONE)
    assert (done.code, page.read_text()) == (2, "mine")
    assert done.err == (
        "runner: outputs/index.html: was not written by `runner history`, so it stays; --to FILE names another file\n"
    )
    page.unlink()
    (tmp_path / "theirs").write_text(MARK)
    page.symlink_to(tmp_path / "theirs")
    assert history.again().code == 2
    page.unlink()
    run = next((tmp_path / "outputs").glob("*/*/"))
    assert history.again("--to", run / "environment.json").code == 2
    assert history.again("--to", run / "sources" / "a.html").code == 2
    assert history.again("--to", "theirs/a.html").code == 2
    assert history.again().code == history.again().code == 0


MISTAKES = {
    "a folder that is not there": (["nowhere/a"], "nowhere/a: there is no such folder"),
    "a pattern without a run": (["outputs/x*"], "outputs/x*: no run folder is there"),
    "a folder without a run": (["empty"], "empty: no run folder is there"),
    "a text that no case has": (["nowhere"], "nowhere: there is no such folder, and no case below outputs has this text"),
    "a text to compare with": (["size<<3"], "size<<3: expected a number after <, not '<3'"),
    "a column that no case has": (["colour=red"], "colour=red: no case has the column colour; available: kernel, size,"),
    "an option without a value": (["--to"], "--to: expected one argument"),
}  # fmt: skip


@pytest.mark.parametrize(("arguments", "sentence"), MISTAKES.values(), ids=MISTAKES)
def test_a_mistake_is_one_sentence(arguments, sentence, history, tmp_path):
    """With exit status 2, and no page."""
    (tmp_path / "empty").mkdir()
    done = history(ONE, *arguments)
    assert (done.code, done.text) == (2, "")
    assert sentence in done.err
    assert len(done.err.splitlines()) == 1


def test_without_runs_it_says_how_to_make_one(history):
    """Before the first sweep, one sentence says what to do."""
    done = history([])
    assert (done.code, done.err) == (2, "runner: no runs below outputs yet; `python -m runner device=cpu` makes one\n")


def listed(directory, *words):
    """The names of the runs that `runner list` prints, and all it says."""
    out = io.StringIO()
    with contextlib.chdir(directory), contextlib.redirect_stdout(out), contextlib.redirect_stderr(out):
        list_runs(list(words))
    return re.findall(r"/(\d\d)-00-00-run", out.getvalue()), out.getvalue()


def test_list_has_the_filter_too(known):
    """The newest runs with a case for which all words hold: text, names, signs, sizes, commits, statuses."""
    directory = known.page.parents[1]
    for words, names in {
        "kernel=reduceWrong failed": "04 03",
        "commit=333 median_us>25": "07 06",
        "size=2^24 median_us>=21 kernel=reduceshfl": "11 10 09 08",
        "status!=ok": "04 03",
        "outputs commit=0": "01 00",
    }.items():
        assert listed(directory, *words.split())[0] == names.split(), words
    shown, said = listed(directory, "kernel=reduceWrong", "-n", "3")
    assert shown == ["11", "10", "09"]
    assert "9 more; `python -m runner list kernel=reduceWrong -n 12` shows all.\n" in said
    assert listed(directory, "size=3") == ([], "No run below outputs has a case that matches size=3.\n")
    assert "colour=red: no case has the column colour" in listed(directory, "colour=red")[1]
    assert "list looks in one folder" in listed(directory, "outputs", "outputs/2026-01-01")[1]


def test_a_list_with_words_names_what_it_could_not_read(history, tmp_path):
    """A damaged run cannot match; a sentence says that it was not asked."""
    history([(rows, PLAIN) for rows in ([runs.timed(0, 10)], [runs.timed(0, 10)])])
    torn = sorted((tmp_path / "outputs").glob("*/*/"))[1]
    (torn / "results.csv").write_text("")
    shown, said = listed(tmp_path, "kernel=reduceShfl")
    assert shown[0] == "00"
    assert "Skipped an unreadable run" in said


def test_values_are_read_as_the_page_reads_them():
    """Numbers with commas, powers, units, shapes and factors; everything else is text."""
    for text, value in {
        "1,024": 1024, "2^20": 2**20, "2**20": 2**20, "16ki": 2**14, "4096x8": 32768, "1.05x": 1.05, "4.1 to 4.6": 4.1,
        "32/1": 32, "-3": -3, "1e3": 1000, "int32": "int32", "": "", "0xff": "0xff", "9^9999": "9^9999", "1,,x": "1,,x",
    }.items():  # fmt: skip
        assert as_value(text) == value, text


def test_columns_of_own_parameters_can_be_asked(history):
    """Parameters that kernels declare are names of the filter, in the page as well."""
    environment = {**PLAIN, "command": "python -m runner experiment=ladder"}
    done = history([([runs.timed(n, 5, pad=n) for n in range(3)], environment)], "pad>0", "experiment=ladder")
    assert "1 run, 2 cases" in done.out
    assert runs.data(done.text)["columns"]["pad"] == ["1", "2"]
