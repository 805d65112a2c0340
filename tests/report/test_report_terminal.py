import io
import subprocess
import sys

import pytest
import report_runs as runs
from rich.console import Console

from runner.report import print_summary


def summary(folder):
    """What the terminal gets."""
    stream = io.StringIO()
    print_summary(folder, Console(file=stream, width=80, force_terminal=False))
    return stream.getvalue()


def test_it_is_shaped_like_the_listing_of_a_cuda_program(run_folder):
    """Kernel, time, sum and launch on one line each, below the CPU's own sum."""
    lines = summary(run_folder(runs.sweep(sizes=(24,), blocks=(256,)))).splitlines()
    assert lines[0].startswith("> size 2^24 (16,777,216), int32")
    assert lines[1].split() == ["cpu", "reduce", ":", "5,201", "µs", "cpu", "sum:", "2139353471"]
    told = "reduceGmem : 72.51 µs gpu sum: 2139353471 <<<grid 65536 block 256>>> 926 GB/s"
    assert " ".join(lines[2].split()) == told
    (verdict,) = [line for line in lines if line.startswith("Passed: ")]
    assert verdict.startswith(
        "Passed: 6 of 6 cases match the CPU reference; fastest at 2^24 is reduceShflUnroll, with "
    )


def test_long_runs_are_cut_and_say_so(run_folder):
    """Of 72 cases each kernel's fastest are shown, with the count and the place of all of them."""
    text = summary(run_folder(runs.sweep()))
    assert text.count("<<<grid") == 24
    assert "Shown: 24 of 72 cases" in text
    assert "results.csv" in text


def test_failures_are_told_once_with_their_count(run_folder):
    """Five skips of one reason are one line, and every status has its own."""
    text = summary(run_folder(runs.failures()))
    assert text.count("width 64 is more than a warp has lanes") == 1
    assert "skipped: 5 cases, such as reduceShfl" in text
    assert "timeout: reduceForever" in text


def test_emulated_time_is_labelled(run_folder):
    """A CPU device's times carry their label, and its sums are not called the GPU's."""
    text = summary(run_folder(runs.emulated()))
    assert "says nothing about a GPU" in text.splitlines()[0]
    assert "gpu sum" not in text


@pytest.mark.parametrize("rows", [[], [runs.failed(0, "skipped", "")], [runs.row(median_us="")]])
def test_small_runs_have_a_summary(run_folder, rows):
    """No cases, a skip without a reason, and a case without a time are all summed up."""
    assert "Results: " in summary(run_folder(rows))


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
