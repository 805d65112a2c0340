"""Races, uninitialized and out-of-bounds accesses are looked for by default: what is found, told, limited, and kept."""

import dataclasses
import json
import shutil
import signal
from types import SimpleNamespace

import outcomes
import processes
import pytest
from support import ROOT, read_kernel, shipped

from runner.device.config import DeviceConfig
from runner.display.terminal import SweepProgress
from runner.jobs.job import Job
from runner.jobs.settings import TimingConfig
from runner.kernel.resolve import make
from runner.record.folder import RunFolder
from runner.stages.races.stage import Races
from runner.stages.races.variants import format_changed_parameters, in_order, small_cases, variants
from runner.sweep.pool import Pool
from runner.sweep.stage import Bench

FOLDER = ROOT / "tests" / "kernels" / "race_checks"
SOURCE = (FOLDER / "kernel" / "own.cu").read_text()
KERNELS = ("honest", "lastBlock", "leftover", "reversed", "sameValue", "declared")


def line_of(mark):
    """The number of a marked line of the source."""
    return next(n for n, line in enumerate(SOURCE.splitlines(), start=1) if mark in line)


def swept(directory, *arguments):
    """A sweep of the kernels in a folder, on the CPU device."""
    return processes.run(directory, "--config-dir", FOLDER, "device=cpu", *arguments)


def rows_of(folder):
    """The rows of a sweep, by kernel and size."""
    return {(row["kernel"], int(row["size"])): row for row in outcomes.rows(folder)}


@pytest.fixture(scope="module")
def done(tmp_path_factory):
    """A sweep of all these kernels by the default command."""
    directory = tmp_path_factory.mktemp("racecheck")
    return swept(directory, f"kernel={','.join(KERNELS)}", "size=6400,12800", "racecheck=default")


@pytest.fixture(scope="module")
def rows(done):
    """Its rows."""
    return rows_of(done.folder)


def test_a_sum_of_the_last_block_without_its_fence_is_not_ok(done, rows):
    """Values are right in each order that the CPU device tries; the checked device finds the race, at a small size."""
    for size in (6400, 12800):
        row = rows["lastBlock", size]
        assert row["status"] == "hazard"
        assert f"on the checked CPU device at size={row['races_at'].removeprefix('size=')}: own.cu:" in row["reason"]
        assert f"own.cu:{line_of('UNFENCED')}: race" in row["reason"]
    assert done.code == 1
    folder = RunFolder(done.folder)
    kinds = {one["kind"] for one in folder.json(folder.hazards(int(rows["lastBlock", 6400]["job"])))}
    assert "race" in kinds


def test_an_uninitialized_read_of_shared_memory_is_not_ok(rows):
    """What it reads enters no output that is compared."""
    row = rows["leftover", 6400]
    assert row["status"] == "hazard"
    assert f"own.cu:{line_of('UNWRITTEN')}: uninitialized read of shared 'tile' element 64" in row["reason"]


def test_a_right_kernel_stays_ok_and_counts_as_looked_at(done, rows):
    """So does one whose threads store the same value: that is a note, as for compute-sanitizer."""
    honest, same = rows["honest", 6400], rows["sameValue", 6400]
    assert (honest["status"], same["status"]) == ("ok", "ok")
    assert honest["races_at"].startswith("size=")
    assert not honest["note"]
    assert "of the same value" in same["note"]
    verdict = json.loads((done.folder / "verdict.json").read_text())
    guards = {case["kernel"]: case["guards"] for case in verdict["cases"]}
    assert "races" in guards["honest"]
    assert "races" not in guards["declared"]


def test_a_mismatch_gets_the_race_behind_it(rows):
    """A missing barrier: the reason names both lines."""
    row = rows["reversed", 6400]
    assert row["status"] == "mismatch"
    found = row["reason"].partition("the checked CPU device finds at size=")[2]
    assert f"own.cu:{line_of('LOADED')}" in found
    assert f"own.cu:{line_of('STORED')}" in found


def test_the_headline_says_how_many_were_looked_at_and_what_was_not(done):
    """One variant of each kernel, whatever its size; one that declares a hazard is not looked at: how many, and why."""
    said = "Races, uninitialized and out-of-bounds accesses: looked for in 5 of 6 variants at small sizes, found in 3. Not in the others: its YAML declares a hazard."
    assert "masks, races (5 of 6 variants); not" in done.out
    page = (done.folder / "report.html").read_text("utf-8")
    assert said in page
    assert "data races that give the correct values" not in page


def test_a_second_sweep_takes_what_was_found_from_the_cache(tmp_path, own_cache, monkeypatch):
    """The same binary and the same small case are not launched again."""
    for shared in (own_cache / "kernel-runner").glob(
        "c*/[ls]*"
    ):  # the devices' libraries and headers, which take longer
        if shared.is_file():
            own = tmp_path / "cache" / shared.relative_to(own_cache)
            own.parent.mkdir(parents=True, exist_ok=True)
            own.hardlink_to(shared)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))  # in which other tests write nothing
    command = "kernel=honest", "racecheck=default"
    first = swept(tmp_path, *command)
    (new,) = (tmp_path / "cache" / "kernel-runner" / "checked" / "races").glob("*.json")
    known = json.loads(new.read_text())
    assert (known["findings"], known["late"]) == ([], 0)
    new.write_text(json.dumps({**known, "said": ["told by the cache"]}))
    for path in first.folder.parent.iterdir():
        path.rename(tmp_path / "first")
    second = swept(tmp_path, *command)
    assert (first.code, second.code) == (0, 1)
    assert "told by the cache" in rows_of(second.folder)["honest", 6400]["reason"]


def test_none_looks_nowhere_and_the_headline_says_what_is_not_checked(tmp_path):
    """Then a kernel with a race is ok, as it was."""
    done = swept(tmp_path, "kernel=lastBlock", "racecheck=none")
    row = rows_of(done.folder)["lastBlock", 6400]
    assert (done.code, row["status"], row["races_at"], row["races_skipped"]) == (0, "ok", "", "")
    assert "races, speed.\n" in done.out.partition("; not ")[2]
    assert "Not checked: data races that give the correct values" in (done.folder / "report.html").read_text("utf-8")
    verdict = json.loads((done.folder / "verdict.json").read_text())
    assert "races" not in verdict["cases"][0]["guards"]


def test_a_search_looks_at_its_winner_and_says_so(tmp_path):
    """The other cases keep their rows, and are counted as not looked at."""
    search = "block=32,64,128", "hydra/sweeper=search", "hydra.sweeper.max_cases=3", "hydra.sweeper.batch=3"
    done = swept(tmp_path, "kernel=honest", *search, "racecheck=default")
    assert sorted(row["races_at"] != "" for row in outcomes.rows(done.folder)) == [False, False, True]
    said = "looked for in 1 of 3 variants at small sizes, none found. Not in the others: of a search only the winners are checked."
    assert said in (done.folder / "report.html").read_text("utf-8")
    assert "races (1 of 3 variants)" in done.out


def test_each_shard_looks_at_its_cases(tmp_path):
    """What they found comes into the sweep's own rows."""
    shards = "hydra/launcher=gpus", "hydra.launcher.shards=2"
    done = swept(tmp_path, "kernel=lastBlock,honest", *shards, "racecheck=default")
    found = {kernel: row["status"] for (kernel, _), row in rows_of(done.folder).items()}
    assert found == {"lastBlock": "hazard", "honest": "ok"}
    assert all(row["races_at"] for row in rows_of(done.folder).values())


def test_an_interrupted_look_leaves_the_rows_and_a_resumed_sweep_looks_again(tmp_path):
    """Ctrl-C while races are looked for: times and status are as they were, and the row says what was not done."""
    hangs = "#ifdef __SANITIZE_THREAD__\n    while (*(volatile const int*)in == 0) ;\n#endif\n    if (i < n) out[i] = in[i] + 1;"
    source = shutil.copytree(FOLDER, tmp_path / "own") / "kernel" / "own.cu"
    source.write_text(SOURCE.replace("if (i < n) out[i] = in[i] + 1;", hangs, 1))
    arguments = ("--config-dir", "own", "kernel=honest", "device=cpu", "device.time_limit_s=2", "racecheck=all")
    process = processes.start(tmp_path, *arguments, QUIET_S="0")
    assert any("looking for races" in line for line in iter(process.stderr.readline, ""))
    process.send_signal(signal.SIGINT)
    _, err = process.communicate()
    (folder,) = tmp_path.glob("outputs/*/*")
    row = rows_of(folder)["honest", 6400]
    assert (process.returncode, row["status"], row["races_skipped"]) == (130, "ok", "interrupted"), err
    assert row["emulated_us"]
    assert processes.resume(tmp_path, folder).returncode == 0
    again = rows_of(folder)["honest", 6400]
    assert (again["status"], again["emulated_us"]) == ("ok", row["emulated_us"])
    assert again["races_skipped"] == "a launch takes more than 2 s on the checked CPU device"


def rows_on_gpu(names, sizes, **given):
    """Jobs, and the rows that a GPU would have given them: the later kernels of a size are the faster ones."""
    cases = [make(shipped(name), {"size": size, **given}, 0) for size in sizes for name in names]
    jobs = [Job(case, DeviceConfig(), TimingConfig(), "nvcc", n) for n, case in enumerate(cases)]
    return [(job, {"device": "cuda", "status": "ok", "median_us": 100.0 - job.number % len(names)}) for job in jobs]


def test_the_fastest_variant_of_each_kernel_comes_first():
    """At the largest size, where times say something about the kernel."""
    given = []
    for block, times in {128: (1.0, 9.0), 256: (5.0, 5.0), 512: (9.0, 1.0)}.items():
        cases = rows_on_gpu(["reduceSmem"], [2**14, 2**20], block=block)
        given += [(job, {**row, "median_us": us}) for (job, row), us in zip(cases, times, strict=True)]
    first, others = in_order(variants(given))
    assert [dict(v.job.case.parameters)["block"] for v in (*first, *others)] == ["512", "128", "256"]


def test_the_largest_block_of_those_without_a_time_comes_first():
    """Without times, as on the CPU device, and of wrong variants: in a block of one warp no race between warps occurs."""
    for row in ({"device": "cpu", "status": "ok"}, {"device": "cuda", "status": "mismatch", "median_us": 1.0}):
        given = [
            (job, dict(row)) for block in (32, 256, 64) for job, _ in rows_on_gpu(["reduceSmem"], [2**14], block=block)
        ]
        first, _ = in_order(variants(given))
        assert [dict(v.job.case.parameters)["block"] for v in first] == ["256"]


def test_on_a_gpu_the_time_ends_it_and_what_was_not_reached_says_so(tmp_path):
    """Nothing is launched without time, and all is with racecheck=all; the rows keep their times."""
    given = rows_on_gpu(["reduceShfl", "reduceSmem"], [2**14])
    for racecheck in ("default", "all"):
        rows = {job.number: row for job, row in given}
        ledger = SimpleNamespace(
            jobs=[dataclasses.replace(job, racecheck=racecheck) for job, _ in given],
            row=lambda job, rows=rows: rows[job.number],
            add=lambda job, row, rows=rows: rows.update({job.number: row}),
            folder=RunFolder(tmp_path),
        )
        with Bench(ledger, SweepProgress(quiet=True), Pool(), {}, 0.0) as bench:
            Races().run(bench)
        expected = "no time was left (10 % of the sweep's time)" if racecheck == "default" else None
        assert [row["races_skipped"] for row in rows.values()] == [expected] * 2
        assert [row.get("races_at", "") for row in rows.values()] == ["size=641" if racecheck == "all" else ""] * 2
        assert all(row["status"] == "ok" and row["median_us"] for row in rows.values())


@pytest.mark.parametrize(
    ("kernel", "given", "at"),
    [
        ("reduceShfl", {"size": "16Mi", "block": 256}, ["size=641"]),
        ("reduceSmemUnroll", {"size": "16Mi", "block": 512, "unroll": 8}, ["size=10241"]),
        ("reduceShfl", {"size": 2001, "block": 256}, [""]),
        ("reduceShfl", {"size": 2000, "block": 256}, ["", "size=641"]),
        ("reduceShfl", {"size": 640, "block": 256}, ["", "size=513"]),
    ],
)
def test_a_small_case_has_three_blocks_and_an_odd_remainder(kernel, given, at):
    """One that is small is taken as it is, and if its size is even a smaller odd one, too."""
    case = make(shipped(kernel), given, 0)
    small = small_cases(case)
    assert [format_changed_parameters(case, one) for one in small] == at
    assert all(one.grid[0] >= 3 for one in small)


# The remainder of the last block differs from other blocks, which is right: a race there, or a read beyond the array.
IN_THE_REMAINDER = {
    "between threads that add": (
        "{range: [0, 16]}", "int32", "h", "16", "bincount(x, 16)",
        "if (n - blockIdx.x * blockDim.x >= blockDim.x) atomicAdd(&h[x[i]], 1); else if (i < n) h[x[i]] += 1;",
        "race (",
    ),
    "a barrier that is missing": (
        "random", "int32", "h", "size", "concatenate(full(0, 1), x[:-1])",
        ("__shared__ int s[64]; const int t = threadIdx.x, before = i > 0 && i <= n ? x[i - 1] : 0;"
        "if (blockIdx.x * 64 + 64 <= n) { s[t] = x[i]; __syncthreads(); h[i] = t > 0 ? s[t - 1] : before; }"
        "else if (i < n) { s[t] = x[i]; h[i] = t > 0 ? s[t - 1] : before; }"),
        "race (read after write) on shared 's'",
    ),
    "a vector that reaches beyond the end": (
        "random", "int32", "h", "size", "2 * x",
        ("if (4 * i < n) { int4 v = ((const int4*)x)[i]; v.x *= 2; v.y *= 2; v.z *= 2; v.w *= 2;"
        "for (int k = 0; k < 4 && 4 * i + k < n; ++k) h[4 * i + k] = (&v.x)[k]; }"),
        "out-of-bounds read of 'x': 16 bytes from index",
    ),
}  # fmt: skip


@pytest.mark.parametrize("size", ["1024", "1024,1025", "8192"])
@pytest.mark.parametrize("what", IN_THE_REMAINDER)
def test_a_mistake_in_the_remainder_is_found_at_any_size(what, size, tmp_path):
    """Also at a whole number of blocks, where the kernel's own launch is right."""
    fill, dtype, out, shape, expected, body, words = IN_THE_REMAINDER[what]
    (tmp_path / "kernel").mkdir()
    (tmp_path / "kernel" / "rest.yaml").write_text(
        f"parameters: {{block: 64, size: 1024}}\n"
        f"arguments:\n"
        f"  - {{name: x, role: in, dtype: {dtype}, shape: size, fill: {fill}}}\n"
        f"  - {{name: {out}, role: inout, dtype: int32, shape: {shape}, fill: zeros}}\n"
        f"  - {{name: n, scalar: int32, value: size}}\n"
        f"grid: ceil_div(size, block)\n"
        f"reference: {{{out}: '{expected}'}}\n"
    )
    (tmp_path / "kernel" / "rest.cu").write_text(
        "__global__ void rest(const int* x, int* h, int n)\n"
        f"{{ const int i = blockIdx.x * blockDim.x + threadIdx.x; {body} }}\n"
    )
    done = processes.run(tmp_path, "--config-dir", ".", "kernel=rest", f"size={size}", "device=cpu", "racecheck=all")
    assert done.code == 1, done.out
    for row in outcomes.rows(done.folder):
        assert row["status"] in ("hazard", "mismatch")  # some are seen in the result, too
        assert words in row["reason"]


ROWS = """
parameters: {block: 128, size: 300x257}
arguments:
  - {name: in, role: in, dtype: float32, shape: [rows, cols], fill: normal}
  - {name: out, role: out, dtype: float32, shape: rows}
grid: rows
reference: {out: "max(in, axis=1)"}
"""


@pytest.mark.parametrize(("block", "at"), [(64, "size=45x83"), (128, "size=77x147"), (1024, "size=45x1061")])
def test_where_a_block_has_a_row_each_thread_of_a_small_case_has_an_element(block, at, tmp_path):
    """With idle warps, a race between them would not show."""
    (tmp_path / "rows.yaml").write_text(ROWS)
    (tmp_path / "rows.cu").write_text("__global__ void rows(const float* in, float* out) {}\n")
    case = make(read_kernel(tmp_path / "rows.yaml"), {"block": block, "size": "4096x2048"}, 0)
    (small,) = small_cases(case)
    assert format_changed_parameters(case, small) == at
