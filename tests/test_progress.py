"""What a sweep shows while it runs: in real pseudo terminals, and without one."""

import io
import re
import types

import pytest
from processes import OWN, run
from rich.console import Console
from support import case_of, shipped
from terminals import frames, runner, screen, widest

from runner.device import DeviceInfo
from runner.device.config import DeviceConfig
from runner.display import terminal
from runner.display.terminal import SweepProgress
from runner.jobs.job import Job
from runner.jobs.settings import TimingConfig
from runner.record.folder import RunFolder
from runner.sweep import engine, pace, rounds, trial
from runner.sweep.ledger import Ledger
from runner.sweep.pool import Pool

SWEEP = ("kernel=reduceShfl,reduceSmem", "block=64,128", "size=20000", "device=cpu", "timing.cpu_rounds=3")
LINE = re.compile(r"[━─]* ?(\d+)/12  \d+:\d\d(, \d+:\d\d left)?  round (\d) of 3(: .*)?")


@pytest.mark.parametrize("columns", [80, 120])
def test_one_line_shows_how_far_a_sweep_is(columns, tmp_path):
    """It fits any time, counts all rounds, cuts the case before anything else, and leaves nothing behind."""
    opened = runner(tmp_path, *SWEEP, columns=columns)
    assert opened.end() == 0
    shown = [found for line in frames(opened.output) if (found := LINE.fullmatch(line))]
    assert widest([found[0] for found in shown]) < columns
    assert [int(found[1]) for found in shown] == sorted(int(found[1]) for found in shown)
    assert len({found[3] for found in shown} & {"1", "2", "3"}) > 1  # a round may pass between two frames
    if columns == 80:
        assert any((found[4] or "").endswith("…") for found in shown)
    assert any("writing the report" in line for line in frames(opened.output))
    left = screen(opened.output)
    assert widest(left) <= columns, "words are broken by nothing but the terminal's edge"
    assert not any("round" in line or "━" in line for line in left)
    (folder,) = tmp_path.glob("outputs/*/*")
    report = f"outputs/{folder.parent.name}/{folder.name}/report.html"
    assert [line for line in left if line][-1].endswith(report)


def test_a_narrow_terminal_and_a_terminal_without_escape_codes(tmp_path):
    """In 40 columns every line fits, words are whole; a dumb terminal gets plain lines."""
    opened = runner(tmp_path, "--config-dir", str(OWN), "kernel=saxpy,writesPart,writesBeyond", *SWEEP[1:], columns=40)
    assert opened.end() == 1
    shown = [line for line in frames(opened.output) if " round " in line]
    assert shown
    assert widest(shown) < 40
    assert any("writesPart" in line and "mismatch" in line for line in frames(opened.output)), "failures stay"
    assert widest([line for line in screen(opened.output) if not line.startswith("outputs/")]) <= 40
    dumb = runner(tmp_path, *SWEEP, columns=80, TERM="dumb")
    assert dumb.end() == 0
    assert "\x1b" not in dumb.output
    assert re.search(r"^12/12 .*: ok", dumb.output, re.MULTILINE)


def test_ctrl_c_in_a_terminal_leaves_it_in_order(tmp_path):
    """The line is gone, the cursor is back, the finished cases are reported, and the last line says how to go on."""
    opened = runner(tmp_path, *SWEEP[:2], "size=2**20", *SWEEP[3:], columns=80)
    opened.read(lambda text: " 1/12 " in text)
    opened.press("\x03")
    assert opened.end() == 130
    assert opened.output.rindex("\x1b[?25h") > opened.output.rindex("\x1b[?25l")
    left = [line for line in screen(opened.output) if line]
    assert not any("Traceback" in line or " of 3" in line for line in left)
    assert "resume" in " ".join(left[-3:])


def test_without_a_terminal_a_short_sweep_prints_a_line_a_case(tmp_path):
    """For each round."""
    lines = run(tmp_path, *SWEEP).err.splitlines()
    assert len([line for line in lines if re.match(r"\d+/12 ", line)]) == 12


def test_without_a_terminal_there_are_not_too_many_lines(monkeypatch):
    """Of a long sweep a line comes now and then, with the time left; of failed cases the first ones are told."""
    out = io.StringIO()
    progress = SweepProgress(Console(file=out, width=80))
    progress.stage("round 1 of 3", 3000)
    for n in range(1000):
        progress.show_step(f"case {n}: measuring")
        progress.step()
        progress.set_remaining(75.0)
        progress.row(f"case {n}", {"status": "ok", "median_us": 1.0})
    assert not out.getvalue()
    monkeypatch.setattr(terminal, "QUIET_S", 0.0)
    monkeypatch.setattr(terminal, "QUIET_SHARE", 0.0)
    progress.row("case 999", {"status": "ok", "median_us": 1.0})
    progress.show_step("case 1000")
    assert re.fullmatch(
        r"1000/3000 \(0:\d\d, 1:1\d left\) case 999: ok 1.0 µs\n"
        r"round 1 of 3 1001/3000 \(0:\d\d, 1:1\d left\): case 1000\n",
        out.getvalue(),
    )
    for n in range(1000):
        progress.row(f"case {n}", {"status": "mismatch", "reason": "wrong"})
    assert out.getvalue().count("mismatch wrong") == terminal.FEW


def test_without_a_terminal_a_step_that_takes_long_is_told_with_its_time(monkeypatch):
    """The same line comes at most every ten seconds, and says how long the program has run."""
    now = [0.0]
    monkeypatch.setattr(terminal, "time", types.SimpleNamespace(monotonic=lambda: now[0]))
    monkeypatch.setattr(terminal, "QUIET_S", 2.0)
    out = io.StringIO()
    progress = SweepProgress(Console(file=out, width=80))
    progress.stage("looking for races", 4)
    for _ in range(30):
        now[0] += 1
        progress.show_step("a kernel")
    assert out.getvalue().splitlines() == [
        "looking for races 1/4: a kernel",
        "looking for races 1/4 (0:13): a kernel",
        "looking for races 1/4 (0:23): a kernel",
    ]


def test_the_time_left_of_even_steps_follows_from_those_done(monkeypatch):
    """The second of ten took 10 s, so the other eight take 80 s. What precedes the first does not count."""
    now = [0.0]
    monkeypatch.setattr(terminal, "time", types.SimpleNamespace(monotonic=lambda: now[0]))
    out = io.StringIO()
    progress = SweepProgress(Console(file=out, width=80, force_terminal=True, color_system=None))
    progress.stage("profiling (ncu)", 10, even=True)
    for now[0] in (90.0, 100.0):
        progress.step()
    progress.console.print(progress)
    assert "2/10  1:40, 1:20 left" in out.getvalue()
    progress.stage("running", 10)
    progress.step()
    progress.console.print(progress)
    assert "1/10  1:40  running" in out.getvalue()


def test_a_reason_does_not_control_the_terminal():
    """The text of an exception of a reference may have escape sequences and newlines."""
    out = io.StringIO()
    progress = SweepProgress(Console(file=out, width=80))
    progress.stage("round 1 of 3", 1)
    progress.row("mine", {"status": "crashed", "reason": "\x1b[2Jgone\nFailed: nothing"})
    assert "\x1b" not in out.getvalue()
    assert out.getvalue().count("\n") == 1


def test_a_sweep_that_turns_out_to_take_long_says_so_once(tmp_path, monkeypatch):
    """Where nothing is known before, the first measurements tell."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(pace, "LONG_S", 0.001)
    monkeypatch.setattr(pace, "SOON_S", 0.0)
    monkeypatch.setattr(rounds, "EVERY_S", 0.0)
    said = []

    class Told(SweepProgress):
        def say(self, text):
            said.append(text)

    plan = [
        Job(case_of(shipped("reduceShfl"), block=32 * (n + 1), size=4096), DeviceConfig(kind="cpu", threads=1),
            TimingConfig(), "nvcc", n)
        for n in range(6)
    ]  # fmt: skip
    (tmp_path / "run").mkdir()
    with Told() as progress, Pool() as pool:
        engine.run(Ledger(plan, RunFolder(tmp_path / "run"), "batch"), progress, pool)
    (told,) = [text for text in said if "This takes" in text]
    assert "estimated from the first 3 measurements" in told


def test_time_left_is_the_sum_of_what_is_known():
    """A case that was measured takes as long again, in each of its rounds; an unknown one the mean of the others."""
    job = {n: Job(case_of(shipped("bcast")), DeviceConfig(), TimingConfig(), "nvcc", n) for n in range(4)}
    known = pace.Pace()
    assert known.remaining_s({0: 1}) is None
    known.add(job[3], 40.0)
    assert known.remaining_s({3: 2}) == 80
    assert known.remaining_s({0: 1, 3: 1}) is None
    for number, seconds in enumerate((1.0, 3.0)):
        known.add(job[number], seconds)
    assert known.remaining_s({0: 1, 1: 2, 2: 0, 3: 1}) == 1 + 2 * 3 + 40
    assert known.remaining_s({9: 3}) == 44


def test_inputs_that_cases_share_count_once():
    """The first case of a size makes its inputs; later ones, and later rounds, find them. Lately none were made."""
    sizes = (1000, 1000, 2000, 1000, 2000, 2000)
    job = [
        Job(case_of(shipped("reduceSmem"), size=size, block=64), DeviceConfig(), TimingConfig(), "nvcc", n)
        for n, size in enumerate(sizes)
    ]
    known = pace.Pace()
    for n, seconds, making_s in ((0, 11.0, 10.0), (1, 1.0, 0.0), (2, 21.0, 20.0)):
        known.add(job[n], seconds, making_s)
    assert known.remaining_s({0: 2, 3: 1}) == 2 + 1 + (0 + 20) / 2
    known.add(job[3], 1.5, 0.5)  # its inputs were made again, as they may be in each round
    known.add(job[4], 1.0, 0.0)
    known.add(job[5], 1.0, 0.0)
    assert known.remaining_s({0: 2, 3: 2}) == 2 + 3
    assert known.remaining_s({6: 12}) == 12 * 6.5 / 6


def test_the_seconds_for_inputs_are_told_apart(monkeypatch):
    """They last from their step to the next one."""
    now = [0.0]
    monkeypatch.setattr(pace, "time", types.SimpleNamespace(monotonic=lambda: now[0]))
    times = pace.Times()
    for seconds, step in ((1, "loading"), (2, trial.MAKING), (4, "checking"), (8, trial.MAKING), (16, "")):
        now[0] += seconds
        times.step(step)
    assert (times.seconds, times.making_s) == (31, 4 + 16)


def test_a_gpu_has_a_least_time():
    """It follows from the protocol and from what a launch costs on that GPU; the CPU device has none."""
    jobs = [Job(case_of(shipped("bcast")), DeviceConfig(), TimingConfig(min_samples=100), "nvcc", n) for n in range(7)]
    gpu = DeviceInfo("cuda", "a GPU", "sm_90", 1.0, 1, 1, 1, details={"flush_us": 900.0, "empty_kernel_us": 100.0})
    # 7 cases, 3 rounds, 25 ms of warm-up and 100 samples of 1 ms
    assert "7 cases, 21 measurements: at least 2.6 s" in pace.describe_plan(jobs, gpu)
    assert pace.describe_plan(jobs, DeviceInfo("cpu", "a CPU", "x86_64", None, 0, 1, 1)) == "7 cases, 7 measurements."
