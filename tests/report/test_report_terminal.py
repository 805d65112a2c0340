import io
import subprocess
import sys

import pytest
import report_runs as runs
from rich.console import Console

from runner.report import print_summary


def summary(folder, width=80):
    """What the terminal gets."""
    stream = io.StringIO()
    print_summary(folder, Console(file=stream, width=width, force_terminal=False))
    return stream.getvalue()


def test_it_is_shaped_like_the_listing_of_a_cuda_program(run_folder):
    """Kernel, time, sum and launch on one line each, below the sum of the CPU reference; lines are never cut."""
    lines = summary(run_folder(runs.sweep(sizes=(24,), blocks=(256,))), width=40).splitlines()
    assert lines[0].startswith("> size 2^24 (16,777,216), int32")
    assert lines[1].split() == ["cpu", "reduce", ":", "5,201", "µs", "cpu", "sum:", "2139353471"]
    words = "reduceGmem : 72.51 µs gpu sum: 2139353471 <<<grid 65536 block 256>>> 926 GB/s"
    assert " ".join(lines[2].split()) == words
    assert any(line.startswith("Passed: 6 of 6 cases match") for line in lines)


def test_long_runs_are_cut_and_say_so(run_folder):
    """Of 72 cases each kernel's fastest are shown, with the count of all of them."""
    text = summary(run_folder(runs.sweep()))
    assert text.count("<<<grid") == 24
    assert "24 of 72 cases are shown" in text
    assert text.count("block 256>>>") == 24


def test_failures_are_told_once_with_their_count(run_folder):
    """Five skips of one reason are one line, and every status has its own."""
    text = summary(run_folder(runs.failures()))
    assert text.count("width 64 is more than a warp has lanes") == 1
    assert "skipped: 5 cases, such as reduceShfl" in text
    assert "timeout: reduceForever" in text


def test_a_mismatch_is_told_whole(run_folder):
    """The bound, the largest error with its place, and what to do stand in the terminal and in the page's summary."""
    reason = f"66 of 65536 elements differ: {'y[17] is 15.4909744, expected 15.473974 (allowed 1e-06); ' * 5}"
    reason += "the largest error is 1.78e+04 ulp, at y[17]; set 'tolerance' in the YAML"
    assert reason in summary(run_folder([runs.failed(0, "mismatch", reason)]))


def test_emulated_times_stand_last_and_choose_nothing(run_folder):
    """A CPU device's line has status, undefined reads and sum, then the time, labelled; a long run is not cut by speed."""
    rows = [row | {"undefined_reads": 16} for row in runs.emulated()]
    text = summary(run_folder(rows))
    (line,) = [line for line in text.splitlines() if line.startswith("reduceSmem ")]
    words = "reduceSmem : ok 16 undefined reads sum: 2139353471 <<<grid 256 block 256>>> 19,259 µs emulated"
    assert " ".join(line.split()) == words
    assert "gpu sum" not in text
    assert "Fastest" not in text
    many = [row | {"case": f"{n:08x}", "block": 32 * n} for n in range(1, 6) for row in runs.emulated()]
    assert "block 32>>>" in summary(run_folder(many, "many"))


@pytest.mark.parametrize("rows", [[], [runs.failed(0, "skipped", "")], [runs.row(median_us="")]])
def test_small_runs_have_a_summary(run_folder, rows):
    """No cases, a skip without a reason, and a case without a time are all summed up."""
    assert summary(run_folder(rows)).strip()


def test_hostile_names_reach_no_terminal(run_folder):
    """Escapes and console markup in names and reasons are printed as text."""
    text = summary(run_folder([runs.failed(0, "crashed", "[red]\x1b[2J\nx", kernel="[/bold]\x1b]0;title\x07")]))
    assert "\x1b" not in text
    assert "[/bold]" in text
    assert "[red]" in text


def test_importing_the_package_loads_no_drawing():
    """The runner imports the report at its start, so the heavy libraries wait until they are needed."""
    code = "import sys, runner.report; print({'matplotlib', 'pandas', 'jinja2'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"


def test_many_cases_without_a_time_are_listed_by_their_status(run_folder):
    """A long run of which one group was skipped as a whole still has its summary."""
    skipped = [runs.failed(n, "skipped", "too wide", width=64 + n, dtype="float16") for n in range(30)]
    text = summary(run_folder([*runs.sweep(sizes=(24,), blocks=(256,)), *skipped]))
    assert text.count("skipped") > 5
    assert "6 of 36 cases match" in text
