"""The experiments that come with the project: each runs, and on a GPU ends with a figure that makes its point."""

import itertools
import re

import pytest
import yaml
from outcomes import rows
from support import KERNELS, ROOT, case_of, shipped

FORMER = "seed_reductions"  # a name that is still understood
FEW = ("hydra.sweeper.max_cases=6", "hydra.sweeper.batch=6")  # of a search
EXPERIMENTS = [p for p in sorted((ROOT / "conf" / "experiment").glob("*.yaml")) if p.stem != FORMER]


def read(path):
    """An experiment's settings, those on the CPU device, and the values that it sweeps."""
    whole = yaml.safe_load(path.read_text(encoding="utf-8"))
    (kernel,) = (group["override /kernel"] for group in whole["defaults"] if "override /kernel" in group)
    swept = whole.get("hydra", {}).get("sweeper", {}).get("params", {})
    fixed = {name: value for name, value in whole.items() if name != "defaults" and not isinstance(value, dict)}
    return {"kernel": kernel, **fixed}, whole.get("on_cpu", {}), {k: str(v).split(",") for k, v in swept.items()}


@pytest.mark.parametrize("path", EXPERIMENTS, ids=lambda p: p.stem)
def test_the_kernels_of_an_experiment_take_its_values(path):
    """At its full size and at that of the CPU device; in a ladder, each kernel takes some of them."""
    fixed, on_cpu, swept = read(path)
    for further in ({}, on_cpu):
        taken = {}
        for values in itertools.product(*swept.values()):
            chosen = {**fixed, **further, **dict(zip(swept, values, strict=True))}
            chosen |= {name: chosen[text[2:-1]] for name, text in chosen.items() if str(text).startswith("${")}
            case = case_of(shipped(chosen.pop("kernel")), **chosen)
            taken.setdefault(case.kernel.name, []).append(not case.excluded)
        assert all(any(each) if "ladder" in path.stem else all(each) for each in taken.values()), taken


ON_CPU = [p for p in EXPERIMENTS if p.stem not in ("cache_preference", "hazards")]  # which have tests of their own


@pytest.mark.parametrize("path", ON_CPU, ids=lambda p: p.stem)
def test_an_experiment_runs_on_the_cpu_device(path, runner):
    """With small sizes and some of the values and kernels, every case is right. A former name is understood."""
    _, on_cpu, swept = read(path)
    size, kernels = str(on_cpu.get("size", "")), swept.get("kernel", [])
    smaller = [f"size={'128x256' if 'x' in size else 2**12}"] if size else []
    smaller += [f"kernel={kernels[0]},{kernels[len(kernels) // 2]},{kernels[-1]}"] if len(kernels) > 3 else []
    for name, values in swept.items():
        if name != "kernel" and len(values) > 1:  # the first and the last one; of many the first
            ends = len(swept) < 3 and (len(kernels) < 3 or len(values) == 2)
            smaller.append(f"{name}={','.join(values[:: len(values) - 1] if ends else values[:1])}")
    smaller += {"tutorial_reductions": ["size=2**12"], "matmul_search": ["size=32x48", *FEW]}.get(path.stem, [])
    counts_lines = path.stem in ("line_costs", "races")
    device = f"device={'checked' if path.stem == 'races' else 'cpu'}"
    name = FORMER if path.stem == "tutorial_reductions" else path.stem  # it consists of the new one
    done = runner(f"experiment={name}", device, *smaller, f"lines={counts_lines}".lower())
    assert (done.folder / "lines.csv").exists() == counts_lines
    skips = path.stem in ("ladder_reduction", "ladder_transpose") or path.stem.endswith("_contenders")
    expected = {"ok", "hazard"} if path.stem == "races" else {"ok", "skipped"} if skips else {"ok"}
    assert {row["status"] for row in rows(done.folder)} == expected, done.err
    assert {row["kernel"] for row in rows(done.folder)} >= {*kernels[:1], *kernels[-1:]}
    assert done.code == (1 if path.stem == "races" else 0)


@pytest.mark.gpu
@pytest.mark.parametrize("path", EXPERIMENTS, ids=lambda p: p.stem)
def test_an_experiment_runs_on_a_gpu(path, runner):
    """With its full sizes, every case is right; what is broken on purpose or cannot be launched is skipped."""
    done = runner(f"experiment={path.stem}", "device=cuda", *(FEW if path.stem.endswith("_search") else ()))
    skipping = ("hazards", "races", "ladder_reduction", "ladder_transpose")
    expected = {"ok", "skipped"} if path.stem in skipping else {"ok"}
    missing = {row["reason"] for row in rows(done.folder) if "not installed" in row["reason"]}  # a contender's library
    assert {row["status"] for row in rows(done.folder)} == expected | ({"skipped"} if missing else set()), done.err
    assert done.code == 0
    assert list((done.folder / "figures").glob("*.svg"))


def test_each_counterexample_is_found_and_its_repair_is_right(runner):
    """The CPU device names the rule that is broken; the repaired kernel passes."""
    done = runner("experiment=hazards", "device=cpu")
    found = {(row["kernel"], row["repaired"]): (row["status"], row["reason"]) for row in rows(done.folder)}
    assert {found[kernel, "0"][0] for kernel, _ in found} == {"hazard"}
    assert "barrier divergence" in found["barrierDivergent", "0"][1]
    assert "mask 0x0000ffff, which does not name it" in found["maskWithoutCaller", "0"][1]
    assert "deadlock: lanes 0-15" in found["maskNamesAbsent", "0"][1]
    assert all(found[kernel, "1"][0] == "ok" for kernel, _ in found)
    assert done.code == 1


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
    done = runner("experiment=cache_preference", "size=1000", "device=cpu")
    found = {(row["kernel"], row["cache"]): row for row in rows(done.folder)}
    for (_, cache), row in found.items():
        assert row["status"] == ("ok" if cache == "none" else "skipped")
        assert cache == "none" or "the CPU device has no on-chip memory to divide up" in row["reason"]
    assert len({row["case"] for row in found.values()}) == 8
    assert done.code == 0


EXPERIMENT = """# @package _global_
size: 2**12
on_cpu: {size: 3000, block: 64}
"""


def test_an_experiment_may_be_smaller_on_the_cpu_device(runner, tmp_path):
    """What `on_cpu` says counts there; what the command line sets counts more; another device is not concerned."""
    (tmp_path / "mine" / "experiment").mkdir(parents=True)
    (tmp_path / "mine" / "experiment" / "small.yaml").write_text(EXPERIMENT)
    call = ["--config-dir", "mine", "experiment=small", "device=cpu"]
    (row,) = rows(runner(*call, "size=500", "hydra.sweep.dir=a").directory / "a")
    assert (row["size"], row["block"]) == ("500", "64")
    (one, other) = rows(runner(*call, "-m", "block=32,128", "hydra.sweep.dir=b").directory / "b")
    assert (one["size"], one["block"], other["block"]) == ("3000", "32", "128")


def test_every_kernel_is_shown_by_an_experiment():
    """Whoever wonders what a kernel does finds a command that shows it."""
    named = " ".join(path.read_text(encoding="utf-8") for path in EXPERIMENTS)
    assert [name for name in KERNELS if not re.search(rf"\b{name}\b", named)] == []
