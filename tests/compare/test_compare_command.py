import os
import re
import shutil
import signal
import subprocess
import sys

import pytest
from compare_runs import ENVIRONMENT, WILD, failed, timed, write
from processes import start
from support import ROOT

from runner.compare.__main__ import main


def test_runs_without_a_common_case_show_their_axes(compare):
    """Without a common case the exit status is 2, and the axes of both runs show why."""
    result = compare(
        [timed(n, 100, size=2**n, block=64) for n in (20, 21)], [timed(n, 100, size=2**n, seed=7) for n in (24, 25)]
    )
    assert result.code == 2
    assert (
        "B and A have no case in common, so there is nothing to compare: they share no size, block and seed."
        in result.err
    )
    assert "A has size 2^20, 2^21; block 64; seed 0. B has size 2^24, 2^25; block 256; seed 7." in result.err
    assert not result.out


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["A", "A"], "A: the same folder as A; a run cannot be compared with itself"),
        (["A", "./A/../A"], "./A/../A: the same folder as A"),
        (["A"], "A: compare needs at least two runs"),
        (["A", "--baseline", "A"], "A --baseline A: compare needs at least two runs"),
        (["A", "nowhere"], "nowhere: there is no such folder"),
        (["A", "*.txt"], "*.txt: no run folder matches"),
        (["A", "empty"], "empty: not a run folder"),
        (["A", "begun"], "begun: not a run folder: it has no results.csv"),
        (["A", "none"], "none and A have no case in common"),
        (["A", "latest~5"], "latest~5: no run below outputs"),
        (["A", "B", "--baseline", "[AB]"], "--baseline [AB]: 2 runs match, expected one"),
        (["A", "torn"], "results.csv: the column kernel is missing"),
        (["A", "B", "--html", "A"], "A: cannot be written: Is a directory"),
    ],
)
def test_what_cannot_be_compared_gets_one_sentence(compare, tmp_path, arguments, words):
    """The exit status is 2, and stderr has the sentence without a traceback."""
    compare([timed(0, 100)], [timed(0, 100)])
    for name in ("empty", "begun", "none", "torn"):
        (tmp_path / name).mkdir()
    (tmp_path / "begun" / "plan.json").write_text("{}")
    (tmp_path / "none" / "results.csv").write_text("case,kernel,status\n")
    (tmp_path / "torn" / "results.csv").write_text("a,b\n1,2\n")
    result = compare.folders(*arguments)
    assert result.code == 2
    assert result.err.startswith("runner: ")
    assert words in result.err
    assert "Traceback" not in result.err
    assert not result.out


def test_a_folder_whose_name_is_hostile_is_named_harmlessly(compare):
    """Escapes in an argument do not reach the terminal."""
    result = compare.folders("\x1b[2Jno", "B")
    assert result.code == 2
    assert "\x1b" not in result.err


def test_runs_are_found_by_pattern_and_by_age(compare, tmp_path):
    """Patterns and `latest` name runs; a run that is named again is taken once."""
    for n, day in enumerate(("20", "21", "22")):
        given = {**ENVIRONMENT, "started_utc": f"2026-11-{day}T00:00:00Z"}
        write(tmp_path / "outputs" / f"2026-11-{day}" / "00-00-00", [timed(0, 100 + 10 * n, binary=day)], given=given)
    out = compare.folders("latest~1", "latest").out
    assert "2026-11-22/00-00-00 against 2026-11-21/00-00-00, 1 common case: none broken, 0 faster, 1 slower" in out
    result = compare.folders("outputs/*/*", "--baseline", "latest")
    assert [(row["run"], row["baseline"], row["word"]) for row in result.rows] == [
        ("2026-11-20/00-00-00", "2026-11-22/00-00-00", "faster"),
        ("2026-11-21/00-00-00", "2026-11-22/00-00-00", "faster"),
    ]


def test_the_csv_has_a_row_for_each_case_and_run(compare):
    """It has parameters, times, the change with its interval in percent, the word, and what was counted."""
    result = compare([timed(0, 100), failed(1)], [timed(0, 110), failed(1)])
    first, second = result.rows
    columns = (
        "case run baseline kernel size rows cols block width mask unroll dtype pad seed device base_status status "
        "base_median_us median_us change_percent low_percent high_percent threshold_percent word note same_binary counted counted_change"
    )
    assert list(first) == columns.split()
    assert float(first["change_percent"]) == pytest.approx(10, abs=0.01)
    assert float(first["low_percent"]) < 10 < float(first["high_percent"])
    assert [first[n] for n in ("base_median_us", "median_us", "threshold_percent", "word")] == [
        "100",
        "110",
        "1",
        "slower",
    ]
    assert [second[n] for n in ("base_status", "status", "change_percent")] == ["mismatch", "mismatch", ""]


def test_hostile_names_are_text_in_the_terminal(compare):
    """Escapes and console markup in kernels and reasons are shown, not obeyed."""
    evil = "[bold]\x1b]0;title\x07[/bold]"
    result = compare([timed(0, 100, kernel=evil)], [failed(0, reason="[red]\x1b[2J", kernel=evil)])
    assert "\x1b" not in result.out
    assert "[bold]" in result.out
    assert "[red]" in result.out


def test_long_comparisons_are_cut_and_say_so(compare):
    """Twenty cases are shown, and the number of the others."""
    result = compare(
        [timed(n, 100, block=32 * n + 32) for n in range(30)], [timed(n, 120, block=32 * n + 32) for n in range(30)]
    )
    cases = [line for line in result.out.splitlines() if line.startswith("slower ")]
    assert len(cases) == 20
    assert all(re.search(r"block \d+ +100.0 to 120.0 µs  \+20.0 %", line) for line in cases)
    assert "10 more cases: --html or --csv" in result.out


def test_ctrl_c_is_quiet(tmp_path):
    """The exit status is 130, and one line says so."""
    write(tmp_path / "A", [timed(0, 100)])
    write(tmp_path / "B", [timed(0, 100)])
    (tmp_path / "slow.py").write_text(
        "import time\nfrom runner.record import samples\nfrom runner.compare.__main__ import main\n"
        "samples.read = lambda *_: (print('reading', flush=True), time.sleep(600))\nraise SystemExit(main(['A', 'B']))\n"
    )
    process = start(tmp_path, module="slow")
    assert process.stdout.readline() == "reading\n"
    process.send_signal(signal.SIGINT)
    assert process.communicate(timeout=200)[1] == "runner: interrupted\n"
    assert process.returncode == 130


def test_a_reader_that_stops_reading_is_no_error(compare, tmp_path):
    """`... | true` neither complains nor changes the exit status."""
    compare([timed(n, 100) for n in range(200)], [timed(n, 100, WILD) for n in range(200)])
    done = subprocess.run(
        ["/bin/bash", "-c", f"{sys.executable} -m runner.compare A B | true; echo ${{PIPESTATUS[0]}}"],
        cwd=tmp_path, env={**os.environ, "PYTHONPATH": str(ROOT)}, capture_output=True, text=True, check=True,
    )  # fmt: skip
    said = [
        line for line in done.stderr.splitlines() if not line.startswith("comparing ")
    ]  # progress, on a slow machine
    assert (done.stdout, said) == ("0\n", [])


def test_real_sweeps_before_and_after_an_edit(runner, compare, tmp_path):
    """An edit that breaks a kernel is BROKEN with its diff; a copy of a sweep is the same as the sweep."""
    for name in ("conf", "kernels"):
        shutil.copytree(ROOT / name, tmp_path / "own" / name)
    conf = str(tmp_path / "own" / "conf")
    sweep = ["kernel=reduceShfl,reduceSmem", "size=4Ki", "device=cpu", "--config-path", conf]
    assert runner(*sweep, "hydra.sweep.dir=before").code == 0
    shutil.copytree(tmp_path / "before", tmp_path / "copy")
    source = tmp_path / "own" / "kernels" / "reduceSmem.cu"
    source.write_text(source.read_text().replace("tile[t] += tile[t + half];", "tile[t] += tile[t];"))
    assert runner(*sweep, "hydra.sweep.dir=after").code == 1
    same = compare.folders("before", "copy")
    assert (same.code, [row["word"] for row in same.rows]) == (0, ["same", "same"])
    edited = compare.folders("before", "after", "--html", "after.html")
    assert (edited.code, [(row["kernel"], row["word"]) for row in edited.rows]) == (
        1,
        [("reduceSmem", "BROKEN"), ("reduceShfl", "same")],
    )
    assert "kernels/reduceSmem.cu: 1 line added, 1 removed in after" in edited.out
    page = (tmp_path / "after.html").read_text("utf-8")
    assert "+            tile[t] += tile[t];" in page
    assert str(tmp_path) not in page


@pytest.mark.parametrize(
    "target",
    [
        ("--csv", "B/results.csv"), ("--html", "A/report.html"), ("--csv", "B/lines.csv"), ("--html", "A/verdict.json"),
        ("--csv", "A/search.jsonl"), ("--csv", "B/0/result.json"),
    ],
)  # fmt: skip
def test_a_runs_own_files_are_not_written_over(compare, tmp_path, target):
    """A page or table in place of a run's own file is refused, and nothing is written."""
    compare([timed(0, 100)], [timed(0, 100)])
    before = (tmp_path / "B" / "results.csv").read_bytes()
    (tmp_path / "result.csv").unlink()
    result = main(["A", "B", *target])
    assert (result, (tmp_path / "B" / "results.csv").read_bytes()) == (2, before)
    assert not (tmp_path / target[1]).exists() or target[1] == "B/results.csv"
