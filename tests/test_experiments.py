"""The experiments that come with the project: each runs, and on a GPU ends with a figure that makes its point."""

import csv
import re

import pytest
import yaml
from processes import LINES
from support import KERNELS, ROOT

FORMER = "seed_reductions"  # a name that is still understood
FEW = ("hydra.sweeper.max_cases=6", "hydra.sweeper.batch=6")  # of a search
EXPERIMENTS = [p for p in sorted((ROOT / "conf" / "experiment").glob("*.yaml")) if p.stem != FORMER]


def rows(folder):
    """The table, one dictionary a case."""
    with (folder / "results.csv").open() as file:
        return list(csv.DictReader(file))


@pytest.mark.parametrize("path", EXPERIMENTS, ids=lambda p: p.stem)
def test_an_experiment_runs_on_the_cpu_device(path, runner):
    """With small sizes and, where there are many, some of the values, every case is right."""
    size = str((yaml.safe_load(path.read_text(encoding="utf-8")).get("on_cpu") or {}).get("size", ""))
    smaller = [f"size={'128x256' if 'x' in size else 2**12}"] if size else []
    smaller += {
        "tutorial_reductions": ["size=2**12"],
        "ladder_reduction": ["block=256", "unroll=4", "blocks=264"],
        "ladder_transpose": ["block=32x8,256", "pad=1"],
        "ladder_stencil": ["block=128", "blocks=1056"],
        "smem_rectangle": ["block=32x16", "pad=1"],
        "line_costs": ["block=32x8", "pad=1"],
        "warp_steps": ["delta=16,1"],
        "block_ladder": ["block=32,256"],
        "unroll_ladder": ["unroll=1,8"],
        "width_ladder": ["width=2,32"],
        "matmul_search": ["size=32x48", *FEW],
    }.get(path.stem, [])
    breaking = ("hazards", "races")
    counted = LINES if path.stem in ("line_costs", "races") else {}
    device = f"device={'checked' if path.stem == 'races' else 'cpu'}"
    done = runner(f"experiment={path.stem}", device, *smaller, **counted)
    assert (done.folder / "lines.csv").exists() == bool(counted)
    skipping = ("cache_preference", "ladder_reduction", "ladder_transpose")
    expected = {"ok", "hazard" if path.stem in breaking else "skipped" if path.stem in skipping else "ok"}
    assert {row["status"] for row in rows(done.folder)} == expected, done.err
    assert done.code == (1 if path.stem in breaking else 0)


@pytest.mark.gpu
@pytest.mark.parametrize("path", EXPERIMENTS, ids=lambda p: p.stem)
def test_an_experiment_runs_on_a_gpu(path, runner):
    """With its full sizes, every case is right; what is broken on purpose or cannot be launched is skipped."""
    done = runner(f"experiment={path.stem}", "device=cuda", *(FEW if path.stem.endswith("_search") else ()))
    skipping = ("hazards", "races", "ladder_reduction", "ladder_transpose")
    expected = {"ok", "skipped"} if path.stem in skipping else {"ok"}
    assert {row["status"] for row in rows(done.folder)} == expected, done.err
    assert done.code == 0
    assert list((done.folder / "figures").glob("*.svg"))


@pytest.mark.parametrize("path", EXPERIMENTS, ids=lambda p: p.stem)
def test_an_experiment_says_what_it_is_for(path):
    """It starts with what it shows, the command that runs it, and what to look for."""
    text = path.read_text(encoding="utf-8")
    head = re.match(r"(#.*\n)+", text)[0]
    assert f"#   python -m runner experiment={path.stem}\n" in head
    assert "# What to look for: " in head
    assert yaml.safe_load(text)


def test_the_former_name_of_an_experiment_is_understood(runner):
    """`seed_reductions` runs `tutorial_reductions`, all six kernels of it."""
    done = runner(f"experiment={FORMER}", "device=cpu", "size=4096")
    assert [row["status"] for row in rows(done.folder)] == ["ok"] * 6, done.err


def test_each_counterexample_is_found_and_its_repair_is_right(runner):
    """The CPU device names the rule that is broken; the repaired kernel passes."""
    done = runner("experiment=hazards", "device=cpu")
    found = {(row["kernel"], row["repaired"]): (row["status"], row["reason"]) for row in rows(done.folder)}
    assert found["barrierDivergent", "0"][0] == "hazard"
    assert "barrier divergence" in found["barrierDivergent", "0"][1]
    assert "mask 0x0000ffff, which does not name it" in found["maskWithoutCaller", "0"][1]
    assert "deadlock: lanes 0-15" in found["maskNamesAbsent", "0"][1]
    assert all(status == "ok" for (_, repaired), (status, _) in found.items() if repaired == "1")


@pytest.mark.gpu
def test_a_counterexample_is_skipped_on_a_gpu(runner):
    """It is undefined there: it may look right, or never end."""
    done = runner("-m", "kernel=barrierDivergent,maskNamesAbsent", "repaired=0,1", "device=cuda")
    found = {(row["kernel"], row["repaired"]): (row["status"], row["reason"]) for row in rows(done.folder)}
    assert {status for (_, repaired), (status, _) in found.items() if repaired == "1"} == {"ok"}
    for kernel in ("barrierDivergent", "maskNamesAbsent"):
        status, reason = found[kernel, "0"]
        assert status == "skipped"
        assert "a counterexample, undefined on a GPU" in reason


def test_a_cache_preference_is_skipped_on_the_cpu_device(runner):
    """There is nothing to divide up; without a preference the case runs, and is the same case as before."""
    done = runner("-m", "kernel=reduceSmem", "cache=none,shared,l1,equal", "size=1000", "device=cpu")
    found = {row["cache"]: row for row in rows(done.folder)}
    assert found["none"]["status"] == "ok"
    for cache in ("shared", "l1", "equal"):
        assert found[cache]["status"] == "skipped"
        assert "the CPU device has no on-chip memory to divide up" in found[cache]["reason"]
    assert len({row["case"] for row in found.values()}) == 4


@pytest.mark.gpu
def test_every_cache_preference_is_taken_by_a_gpu(runner):
    """The driver accepts each, for a kernel with and one without shared memory."""
    done = runner("-m", "kernel=reduceSmem,reduceGmem", "cache=none,shared,l1,equal", "size=1Mi", "device=cuda")
    assert [row["status"] for row in rows(done.folder)] == ["ok"] * 8


EXPERIMENT = """# @package _global_
size: 2**12
on_cpu: {size: 3000, block: 64}
"""


def test_an_experiment_may_be_smaller_on_the_cpu_device(runner, tmp_path):
    """What `on_cpu` says counts there; what the command line sets counts more; another device is not concerned."""
    (tmp_path / "mine" / "experiment").mkdir(parents=True)
    (tmp_path / "mine" / "experiment" / "small.yaml").write_text(EXPERIMENT)
    call = ["--config-dir", "mine", "experiment=small", "device=cpu"]
    (row,) = rows(runner(*call, "hydra.sweep.dir=a").directory / "a")
    assert (row["size"], row["block"]) == ("3000", "64")
    (row,) = rows(runner(*call, "size=500", "hydra.sweep.dir=b").directory / "b")
    assert (row["size"], row["block"]) == ("500", "64")
    (one, other) = rows(runner(*call, "-m", "block=32,128", "hydra.sweep.dir=c").directory / "c")
    assert (one["size"], one["block"], other["block"]) == ("3000", "32", "128")


def test_every_kernel_is_shown_by_an_experiment():
    """Whoever wonders what a kernel does finds a command that shows it."""
    named = " ".join(path.read_text(encoding="utf-8") for path in EXPERIMENTS)
    assert [name for name in KERNELS if not re.search(rf"\b{name}\b", named)] == []


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (EXPERIMENT.replace("block", "blok"), "on_cpu.blok: no kernel on the search path declares a parameter"),
        (EXPERIMENT + "hydra: {sweeper: {params: {size: '2**12,2**13'}}}\n", "on_cpu.size: the experiment sweeps size"),
    ],
)
def test_a_mistake_in_on_cpu_is_one_sentence(text, said, runner, tmp_path):
    """A misspelt parameter, and one that the experiment sweeps; nothing is run."""
    (tmp_path / "mine" / "experiment").mkdir(parents=True)
    (tmp_path / "mine" / "experiment" / "small.yaml").write_text(text)
    done = runner("--config-dir", "mine", "experiment=small", "device=cpu")
    assert done.code == 2
    assert done.err.startswith(f"runner: {said}")
