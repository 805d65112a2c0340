"""`profile`: what Nsight Compute and compute-sanitizer say becomes columns, hazards and words; without a GPU.

The tools are played by scripts that write what the real ones wrote on an H200 (tests/profile/).
"""

import json
import math
import os
import sys
import types
from dataclasses import asdict, replace

import pytest
from outcomes import rows
from support import ROOT, Told, case_of, shipped

from runner.device import DeviceInfo, Energy
from runner.device.config import DeviceConfig
from runner.device.cuda import energy
from runner.jobs.job import Job
from runner.jobs.settings import ProfileConfig, TimingConfig
from runner.record.folder import RunFolder
from runner.record.shards import ShardFolder, merge_shard
from runner.report import bottlenecks
from runner.stages.lines.costs import LineCost
from runner.stages.profile import counters, sanitizer
from runner.stages.profile.energy import batch
from runner.stages.profile.stage import Tools
from runner.statistics import mean_interval

RECORDED = ROOT / "tests" / "profile"
TOOL = """#!{python}
import json, sys
words = sys.argv[1:]
output, log = words[words.index("--log-file") + 1], words[words.index("--log") + 1]
jobs = [int(w) for w in words[words.index("runner.stages.profile.launch") + 2:] if w.isdigit()]
broken, alone = {broken}, {alone!r}
with open(log, "a") as states:
    for job in jobs:
        print(json.dumps({{"job": job, "state": "launching"}}), file=states)
        if job == broken:
            break
        print(json.dumps({{"job": job, "state": "done"}}), file=states)
said = open({said!r}).read()
if alone and jobs != alone and len(jobs) == 1:
    said = ""
open(output, "w").write(said)
sys.exit(broken in jobs)
"""


@pytest.fixture
def play(tmp_path, monkeypatch):
    """Puts a tool on the PATH that launches nothing and writes a text; after the job `broken` it ends."""

    def put(name, said, broken=-1, alone=None):
        (tmp_path / "said").write_text(said)
        script = TOOL.format(python=sys.executable, said=str(tmp_path / "said"), broken=broken, alone=alone)
        (tmp_path / name).write_text(script)
        (tmp_path / name).chmod(0o755)
        monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")

    return put


def jobs(*kernels, **profile):
    """A job for each kernel."""
    how = ProfileConfig(**profile)
    cases = [case_of(shipped(kernel)) for kernel in kernels]
    return [Job(c, DeviceConfig("cuda"), TimingConfig(), "nvcc", n, profile=how) for n, c in enumerate(cases)]


@pytest.fixture
def tools(tmp_path):
    """What a step works with, in an empty folder whose cases are all right."""
    rows = {number: {"status": "ok", "device": "cuda", "reason": None} for number in range(9)}
    (tmp_path / "run").mkdir()
    for number in rows:
        (tmp_path / "run" / str(number)).mkdir()
    return Tools(RunFolder(tmp_path / "run"), rows, Told(), {}, h200)


def h200():
    """What the sanitizer's compiler asks of the GPU."""
    return DeviceInfo("cuda", "H200", "sm_90", None, 132, 1 << 16, 1 << 37)


def by_job(step, given, tools):
    """What a step gives, by the job's number."""
    return {job.number: result for job, result in step.measure(given, tools)}


METRICS = "dram__bytes_read.sum", "sm__throughput.avg.pct_of_peak_sustained_elapsed"


def table(*launches):
    """As ncu writes it: messages, a head, a line of units, a line for each launch."""
    lines = [("ID", "Kernel Name", counters.TIME, *METRICS), ("", "", "ns", "byte", "%")]
    lines += [(str(n), *launch) for n, launch in enumerate(launches)]
    return "==PROF== Connected\n" + "".join(",".join(f'"{cell}"' for cell in line) + "\n" for line in lines)


def test_each_case_gets_the_counters_of_its_own_launch(play, tools):
    """In the order of the launches, in one process; what ncu calls n/a is missing, and said once."""
    play("ncu", table(("bcast", "2,000", "1,024", "50.5"), ("copyGmem", "4,000", "n/a", "12")))
    found = by_job(counters.Ncu(), jobs("bcast", "copyGmem", metrics=[*METRICS]), tools)
    first, second = (result.columns for result in found.values())
    assert (first["ncu_dram_read"], first["ncu_sm_percent"], second["ncu_sm_percent"]) == (1024, 50.5, 12.0)
    assert "ncu_dram_read" not in second
    (sentence,) = tools.progress.said
    assert "dram__bytes_read.sum" in sentence


def test_a_shard_launches_from_the_folder_of_the_sweep(tmp_path, monkeypatch):
    """Its own folder has no sources."""
    (tmp_path / "ncu").write_text(f'#!/bin/sh\necho "$@" >{tmp_path}/words\n')
    (tmp_path / "ncu").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    attempt = ShardFolder(RunFolder(tmp_path / "sweep"), 0).begin()
    list(counters.Ncu().measure(jobs("bcast", metrics=["default"]), Tools(attempt, {0: {}}, Told(), {}, h200)))
    assert f"runner.stages.profile.launch {tmp_path}/sweep 0 " in (tmp_path / "words").read_text()


def test_other_launches_than_ours_are_no_counters(play, tools):
    """A case whose kernel ncu did not see has a reason and no numbers."""
    play("ncu", table(("other", "2,000", "1,024", "50.5")))
    ((_, result),) = counters.Ncu().measure(jobs("bcast", metrics=["default"]), tools)
    assert "other" in result.record["reason"]
    assert not result.columns


def test_after_a_launch_that_failed_the_others_are_counted(play, tools):
    """The case that the GPU did not survive has a reason; each other case is counted, those behind it anew."""
    play("ncu", table(("bcast", "2,000", "1,024", "50.5")), broken=1)
    found = by_job(counters.Ncu(), jobs("bcast", "copyGmem", "bcast", metrics=["default"]), tools)
    said = {job: result.record.get("reason", "") for job, result in found.items()}
    assert (said[0], said[2]) == ("", "")
    assert "failed under ncu" in said[1]


@pytest.mark.parametrize("step", [counters.Ncu(), sanitizer.Sanitizer()])
def test_without_the_tool_one_sentence_says_so(step, tools, monkeypatch):
    """No result, so that a later resume tries again."""
    monkeypatch.setenv("PATH", "/nowhere")
    assert list(step.measure(jobs("bcast", metrics=["default"], sanitizer=True), tools)) == []
    (sentence,) = tools.progress.said
    assert "not on the PATH" in sentence


@pytest.mark.parametrize(("tool", "step"), [("ncu", counters.Ncu()), ("compute-sanitizer", sanitizer.Sanitizer())])
def test_a_tool_that_does_not_work_is_tried_once(tool, step, tools, tmp_path, monkeypatch):
    """What it said last is told; there is no result, so that a later resume tries again."""
    (tmp_path / tool).write_text(f"#!/bin/sh\necho once >>{tmp_path}/calls\necho the reason >&2\nexit 1\n")
    (tmp_path / tool).chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    assert list(step.measure(jobs("bcast", "bcast", metrics=["default"], sanitizer=True), tools)) == []
    (sentence,) = tools.progress.said
    assert "the reason" in sentence
    assert (tmp_path / "calls").read_text() == "once\n"


def test_without_the_right_to_count_one_sentence_says_who_gives_it(play, tools):
    """As ncu says it where counters are for administrators only."""
    play(
        "ncu",
        "==ERROR== ERR_NVGPUCTRPERM - The user does not have permission to access NVIDIA GPU Performance Counters",
    )
    assert list(counters.Ncu().measure(jobs("bcast", metrics=["default"]), tools)) == []
    (sentence,) = tools.progress.said
    assert "NVreg_RestrictProfilingToAdminUsers=0" in sentence


def test_what_ncu_wrote_on_an_h200_is_read():
    """The two launches of one case, with units and thousands' separators: sums, shares, ratios, counted operations."""
    asked = counters.metrics(["default", "no__such_metric.sum"], operations=True)
    launches = counters.read((RECORDED / "ncu.csv").read_text(), asked)
    assert [launch.kernel for launch in launches] == ["twice", "again"]
    assert launches[0].values["dram__bytes_read.sum"] == 4197120
    assert launches[0].units["dram__bytes_read.sum"] == "byte"
    assert set(asked) - set(launches[0].values) == {"no__such_metric.sum"}
    values = counters.summed(launches)
    row = counters.columns(values)
    assert (row["ncu_dram_read"], row["ncu_load_sectors"]) == (8394240, 4.0)
    assert row["ncu_l2_hit_percent"] == pytest.approx(100 * (228632 + 228700) / (426985 + 428245))
    assert row["ncu_warps_percent"] == pytest.approx((65.65 * 4928 + 66.54 * 4960) / 9888)
    assert row["ncu_stalls"].startswith("long_scoreboard 72 %")
    assert counters.operations(values, "float32") == 2 * 2**20


@pytest.mark.parametrize(
    ("file", "tool", "kernel", "found"),
    [
        ("memcheck-outOfBounds", "memcheck", "outOfBounds", ("outside", "broken.cu:4", "", (63, 0, 0), 1)),
        ("memcheck-misaligned", "memcheck", "misaligned", ("misaligned", "broken.cu:24", "", (0, 0, 0), 2)),
        ("racecheck-sharedRace", "racecheck", "sharedRace", ("race", "broken.cu:9", "broken.cu:10", (31, 0, 0), 2)),
        ("initcheck-uninitialised", "initcheck", "uninitialised", ("unwritten", "broken.cu:15", "", (0, 0, 0), 2)),
        ("memcheck-fine", "memcheck", "fine", None),
    ],
)
def test_what_compute_sanitizer_wrote_on_an_h200_becomes_one_finding_for_each_mistake(file, tool, kernel, found):
    """Kind, lines, the first thread and how often; without an error there is none."""
    records = sanitizer.parse_sanitizer_log((RECORDED / f"{file}.txt").read_text(), [kernel])
    got = [(one.kind, one.line, one.other_line, one.thread, one.count) for one in sanitizer.findings(records, tool)]
    assert got == ([found] if found else [])


def test_an_error_belongs_to_the_case_that_makes_it_alone(play, tools):
    """Two cases of one kernel: each is launched again by itself, and only one of them fails there."""
    play("compute-sanitizer", (RECORDED / "outside.txt").read_text(), alone=[2])
    found = by_job(sanitizer.Sanitizer(), jobs("copyGmem", "bcast", "bcast", sanitizer=["memcheck"]), tools)
    assert [result.columns.get("status") for result in found.values()] == [None, None, "hazard"]
    assert "bcast.cu:17" in found[2].columns["reason"]
    (kept,) = json.loads(tools.folder.hazards(2).read_text())
    assert (kept["kind"], kept["line"], kept["thread"], kept["block"]) == (
        "outside",
        "bcast.cu:17",
        [37, 0, 0],
        [1, 0, 0],
    )


@pytest.mark.parametrize(("size", "at"), [(1 << 22, ", at size=262143"), (1 << 16, "")])
def test_the_slow_tool_launches_a_large_case_at_a_smaller_size_and_says_so(size, at, play, tools):
    """compute-sanitizer's racecheck takes seconds for millions of threads."""
    play("compute-sanitizer", (RECORDED / "racecheck-sharedRace.txt").read_text().replace("sharedRace", "reduceShfl"))
    (job,) = jobs("reduceShfl", sanitizer=["racecheck"])
    job = replace(job, case=case_of(shipped("reduceShfl"), size=size))
    found = by_job(sanitizer.Sanitizer(), [job], tools)
    assert found[0].columns["reason"].endswith(f"(2 times, racecheck){at}")


def test_nothing_is_profiled_on_the_cpu_device(runner):
    """One sentence; the times stay, and the sweep is complete."""
    done = runner("kernel=bcast", "device=cpu", "timing=quick", "profile=full")
    assert done.code == 0, done.err
    assert done.err.count("profile: ") == 1
    assert not (done.folder / "0" / "profile.json").exists()
    assert [(row["status"], row["joules"]) for row in rows(done.folder)] == [("ok", "")]
    assert "complete" in runner(str(done.folder), module="runner.resume").err


def known(row=(), waits=(), costs=(), **numbers):
    """A case of which that is known."""
    common = {"timer_limited": "False", "waves": 4.0, "bytes_read": 100, "bytes_written": 0}
    return bottlenecks.CaseFacts(
        {**common, **dict(row)}, numbers.get("reached"), numbers.get("dram"), "a copy", waits, costs
    )


LOAD = LineCost("k.cu", 31, "shared", "load", 3, 96, 32.0, 128.0, None, None, 32.0, 1.0)
BUSY = {"ncu_memory_percent": 20.0, "ncu_sm_percent": 10.0, "ncu_warps_percent": 12.0}


@pytest.mark.parametrize(
    ("case", "words"),
    [
        (known(reached=94.0), "memory-bound at 94 % of a copy"),
        (known(reached=79.0, dram=70.0), ""),
        (known({"timer_limited": "True"}, reached=94.0), "launch-bound"),
        (known({"ncu_sm_percent": 91.0, "ncu_fma_percent": 90.0}, reached=20.0), "compute-bound"),
        (
            known(BUSY, reached=20.0, dram=20.0, waits=[("barrier", 0.5)]),
            "12 % of warps active, which wait 50 % of the time for another warp of the block at a barrier (barrier)",
        ),
        (known({**BUSY, "ncu_memory_percent": 70.0}, reached=20.0, dram=20.0), ""),
        (known({**BUSY, "ncu_memory_percent": 85.0}, reached=20.0, dram=20.0), "cache works at 85 %"),
        (known(BUSY, costs=[LOAD]), "bank conflicts on line 31 of k.cu (32 wavefronts per request, at best 1)"),
        (known(costs=[LOAD], reached=94.0), "memory-bound at 94 % of a copy"),
        (known({"waves": 0.25}), "its blocks fill 25 % of the GPU"),
        (known({"ncu_dram_read": 150, "ncu_dram_written": 60}), "DRAM moves 2.1 times the declared bytes"),
        (known(), ""),
    ],
)
def test_numbers_become_words_only_where_they_carry_them(case, words):
    """The rules of runner.report.bottlenecks, at and between their thresholds."""
    said = bottlenecks.judge(case)
    assert words in said
    assert bool(words) == bool(said)


def test_the_rules_stand_in_the_documentation():
    """Each with its threshold and its source."""
    text = (ROOT / "docs" / "profile.md").read_text(encoding="utf-8")
    for rule in (*bottlenecks.BOUNDS, *bottlenecks.REMARKS):
        assert f"| {rule.name} | {rule.when} | {rule.source} |" in text


def test_what_a_shard_profiled_enters_the_sweep(tmp_path):
    """Counters after the same rounds, with their record; a hazard that the sanitizer found replaces a row that was ok."""
    sweep, shard = RunFolder(tmp_path / "sweep"), ShardFolder(RunFolder(tmp_path / "sweep"), 0)
    attempt = shard.begin()
    timed = {"case": "c", "status": "ok", "rounds": 3, "ncu_dram_read": None}
    (sweep.path / "4").mkdir()
    sweep.write_json(sweep.result(4), timed)
    for row in ({**timed, "ncu_dram_read": 5}, {**timed, "status": "hazard"}):
        (attempt.path / "4").mkdir(exist_ok=True)
        attempt.write_json(attempt.profile(4), {"of": row["status"]})
        attempt.write_json(attempt.result(4), row)
        assert merge_shard(sweep, shard, [4]) == {4: row}
        assert sweep.json(sweep.profile(4)) == {"of": row["status"]}
        assert merge_shard(sweep, shard, [4]) == {}
    attempt.write_json(attempt.line_costs(4), {"reason": "it has no column"})
    attempt.write_json(attempt.profile(4), {"of": "a further step"})
    assert merge_shard(sweep, shard, [4]) == {}
    assert sweep.json(sweep.line_costs(4)) == {"reason": "it has no column"}
    assert sweep.json(sweep.profile(4)) == {"of": "a further step"}


class Gpu:
    """A GPU whose launches take 10 us at 300 W, behind a clock of its own; its counter is updated every 100 ms."""

    US, WATTS, PERIOD = 10.0, 300.0, 0.1

    def __init__(self, monkeypatch):
        self.now, self.free, self.launches = 0.0, 0.0, 0
        clock = types.SimpleNamespace(perf_counter=lambda: self.now, monotonic=lambda: self.now, sleep=self.sleep)
        monkeypatch.setattr(energy, "time", clock)

    def sleep(self, seconds):
        """Let time pass."""
        self.now += seconds

    def read(self):
        """A reading takes 3 ms."""
        self.now += 0.003
        return self.WATTS * math.floor(self.now / self.PERIOD) * self.PERIOD

    def call(self, launches):
        """Queue launches behind those that run."""
        self.free = max(self.free, self.now) + launches * self.US * 1e-6

    def record(self):
        """An event behind what is queued."""
        at = self.free
        return types.SimpleNamespace(
            at=at, query=lambda: self.now >= at, time_till=lambda other: (other.at - at) * 1000.0
        )

    def queue(self):
        """Calls of as many launches as the device would queue in one."""
        count = energy.launches_per_call(self.US)
        return energy.Queue(self.record, lambda: self.call(count), count, 1.0)


def test_a_batch_gives_power_and_time_of_a_launch(monkeypatch):
    """Between two updates of the counter, however long a reading takes; the duration is that of launches without gaps."""
    gpu = Gpu(monkeypatch)
    found = energy.measure(gpu.read, gpu.queue(), 2.0, 120.0)
    assert isinstance(found, Energy)
    assert found.watts == pytest.approx(gpu.WATTS, rel=0.01)
    assert found.us == pytest.approx(gpu.US, rel=1e-6)
    assert found.joules == pytest.approx(3e-3, rel=0.01)
    assert 2.0 <= found.seconds < 2.3
    assert energy.idle_watts(gpu.read) == pytest.approx(gpu.WATTS, rel=0.01)


@pytest.mark.parametrize(("reading", "words"), [(None, "no energy counter"), (7.0, "has not changed")])
def test_a_counter_that_does_not_count_is_a_sentence(reading, words, monkeypatch):
    """Neither a missing counter nor one that stands still gives a number."""
    gpu = Gpu(monkeypatch)

    def read():
        gpu.now += 0.003
        return reading

    for found in (energy.measure(read, gpu.queue(), 2.0, 120.0), energy.idle_watts(read)):
        assert isinstance(found, str)
        assert words in found


def test_the_interval_is_students():
    """Half the 95 % interval of a mean of five; unknown for one value."""
    mean, half = mean_interval([1.0, 2.0, 3.0, 4.0, 5.0])
    assert (mean, half) == (3.0, pytest.approx(1.9632, abs=1e-4))  # 2.7764 * sqrt(2.5 / 5)
    assert math.isnan(mean_interval([4.0])[1])


@pytest.mark.gpu
def test_a_sweep_measures_joules(runner):
    """Each case has its energy and the figure; without NVML, one sentence says so, and the times stay."""
    given = ("kernel=copyVector", "size=4096x4096", "block=128,256", "device=cuda", "timing=quick", "profile=energy")
    given += ('+metrics.above_idle_j="(energy_w - idle_w) * energy_us / 1e6"',)
    done = runner(*given)
    assert done.code == 0, done.err
    for row in rows(done.folder):
        assert float(row["energy_w"]) > float(row["idle_w"]) > 0
        profile = json.loads((done.folder / row["job"] / "profile.json").read_text())
        batches = profile["energy"]["batches"]
        joules = [batch["watts"] * batch["us"] * 1e-6 for batch in batches]
        assert float(row["joules"]) == pytest.approx(sum(joules) / len(joules))
        assert 0 < float(row["joules_ci"]) < float(row["joules"])
        assert 0 < float(row["above_idle_j"]) < float(row["joules"])
    assert (done.folder / "figures" / "energy.csv").is_file()
    (done.directory / "broken").mkdir()
    (done.directory / "broken" / "pynvml.py").write_text("raise ImportError('there is no NVML')\n")
    (done.directory / "other").mkdir()
    first = [str(done.directory / "broken"), str(ROOT), os.environ.get("PYTHONPATH", "")]
    again = runner(*given, "hydra.sweep.dir=other/run", PYTHONPATH=os.pathsep.join(first))
    assert again.code == 0, again.err
    assert "no energy" in again.out + again.err
    assert {row["joules"] for row in rows(done.directory / "other" / "run")} == {""}


class _Metered:
    """A device whose energy counter works."""

    def __init__(self, device, found):
        self._device, self._found = device, found

    def __getattr__(self, name):
        return getattr(self._device, name)

    def energy(self, *_):
        return self._found


@pytest.mark.parametrize("found", [Energy(300.0, 2.0, 10.0, 120.0, exclusive=False), "the counter stands still"])
def test_a_batch_gives_the_parent_plain_data(found, bench):
    """What a worker measured crosses the pipe as numbers, or as the reason why there are none."""
    case = case_of(shipped("reduceShfl"), size="1000")
    binary = bench.compiler.compile(case.source())
    steps = []
    given = batch(_Metered(bench.device, found), steps.append, case, binary, 10.0, 2.0)
    assert given == (found if isinstance(found, str) else asdict(found))
    assert steps == ["inputs", "checking", "energy"]
