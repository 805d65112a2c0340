"""The checked device finds every planted race and access error, names its lines, and accuses no correct kernel.

The kernels of tests/kernels/races are written after the bug kinds of public suites: compute-sanitizer's samples, Indigo,
GPUVerify, Faial, ScoRD, and Harris' reductions. Those of tests/kernels/orders show rules of order and kinds of variables
that were once told wrong.
"""

import subprocess

import planted_races
import pytest
from planted_races import FOLDER
from support import Bench

from runner.device.config import DeviceConfig
from runner.device.kinds import compiler_for, open_device

FILES = sorted((*FOLDER.glob("*.cu"), *FOLDER.with_name("orders").glob("*.cu")))
EACH_FILE = pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)


def line(place):
    """The number in `barriers.cu:12`; 0 if the line is not known."""
    return int(place.rpartition(":")[2] or 0)


def joins(kernel, one, other):
    """Whether two lines are the two sides that are marked in the source."""
    a, b = kernel.lines.get("RACE a", ()), kernel.lines.get("RACE b", ())
    return (one in a and other in b) or (one in b and other in a)


def names_its_lines(kernel, outcome):
    """Whether what was found names the marked lines: both sides of a race, or the one line of another mistake."""
    if any(f.kind == "race" and joins(kernel, line(f.line), line(f.other_line)) for f in outcome.findings):
        return True
    single = {number for mark, lines in kernel.lines.items() if not mark.startswith("RACE") for number in lines}
    said = {line(f.line) for f in outcome.findings} | {line(outcome.reason.partition(": ")[0])}
    return bool(single & said)


def wrong(kernel, outcome):
    """What is wrong with a kernel's verdict; empty if nothing."""
    if kernel.verdict == "ok":
        return outcome.reason or "findings" if outcome.status != "ok" or outcome.findings else ""
    if outcome.status != "hazard":
        return f"missed: {outcome.status} {outcome.reason}"
    if not names_its_lines(kernel, outcome):
        return f"marked {kernel.lines}, found: {outcome.reason}"
    same = all(f.same_value for f in outcome.findings)
    return "" if same == (kernel.verdict == "same") or not outcome.findings else f"same value: {same}"


def wrong_verdicts(path, **settings):
    """What is wrong with the verdicts of a file's kernels."""
    config = DeviceConfig(kind="checked", **settings)
    device = open_device(config)
    bench = Bench(device, compiler_for(config, device.info))
    kernels = planted_races.of_file(path)
    cases = planted_races.cases(kernels)
    verdicts = {k.name: wrong(k, bench.run(cases[k.name])) for k in kernels}
    device.close()
    return {name: verdict for name, verdict in verdicts.items() if verdict}


@EACH_FILE
def test_planted_bugs_are_found_with_their_lines_and_correct_kernels_are_not_accused(path):
    """Of a file's kernels, broken ones are hazards at the marked lines, and correct ones are ok without any."""
    assert wrong_verdicts(path) == {}


def test_two_readers_of_a_word_do_not_hide_the_others():
    """A write that is ordered after the first reads of a word, but not after the last, is found in any one order."""
    assert wrong_verdicts(FOLDER / "broadcast.cu", schedules=1) == {}


@pytest.mark.nvcc
@EACH_FILE
def test_the_kernels_are_cuda(path, tmp_path):
    """Nvcc compiles each file."""
    command = ["nvcc", "-arch=sm_90", "-cubin", "-o", str(tmp_path / "out.cubin"), str(path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
