"""Searches the variants of a tiled matrix product on a GPU: ours and Kernel Tuner's strategies, for the same time.

    python benchmarks/search_gpu.py --seeds 3 --seconds 60 [--size 1024] [--strategies pso] [--out FOLDER] [--dry-run]

The space is that of conf/experiment/matmul_search.yaml; Kernel Tuner gets the same parameters, defines and constraints,
from conf/kernel/matmulTile.yaml. Each search is a process. At the end the best cases of all searches are measured
anew, side by side, with the whole protocol, in one sweep. The fastest of them is the best known. A search has reached
the goal if the best of its first 2 % of the legal combinations takes at most 3 % more time than the best known.

Searches that --out has already are not repeated. Needs a GPU and PyCUDA; Kernel Tuner for --strategies. --dry-run
prints the commands and counts the combinations in both tools, without a GPU.
"""

from __future__ import annotations

import argparse
import csv
import itertools
import json
import re
import shlex
import shutil
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).resolve().parents[1]
sys.path[:] = [str(ROOT), *(p for p in sys.path if Path(p).resolve() != ROOT / "benchmarks")]  # see kernel_tuner.py

from runner.compose.search import declared  # noqa: E402
from runner.kernel import from_yaml  # noqa: E402
from runner.search.space import kernel_space  # noqa: E402

KERNEL = "matmulTile"
GOAL_SHARE, GOAL_MORE = 0.02, 0.03  # of the legal combinations; of the best known's time
ANEW = 3  # cases of each search that are measured anew
TOLERATED = 1e-4  # of the sums: the rounding errors of float32
Values = tuple[tuple[str, str], ...]
"""A combination: the parameters' names and values, as an override has them."""


@dataclass(frozen=True)
class Found:
    """What a search has found: the cases that did not fail, the best first, and how many it has measured."""

    search: str
    seed: int
    cases: int
    best: tuple[Values, ...]

    def winners(self) -> tuple[Values, ...]:
        """Its answer, and the next ones."""
        return self.best[:ANEW]


def declared_kernel() -> Mapping[str, Any]:
    """The kernel's YAML."""
    return dict(yaml.safe_load((ROOT / "conf" / "kernel" / f"{KERNEL}.yaml").read_text(encoding="utf-8")))


def space() -> Mapping[str, Sequence[Any]]:
    """The values of each parameter."""
    path = ROOT / "conf" / "experiment" / "matmul_search.yaml"
    return declared(yaml.safe_load(path.read_text(encoding="utf-8"))["search"])


def legal() -> int:
    """How many combinations are legal."""
    path = ROOT / "conf" / "kernel" / f"{KERNEL}.yaml"
    kernel = from_yaml.read(KERNEL, yaml.safe_load(path.read_text(encoding="utf-8")), path)
    return kernel_space(kernel, {}, space()).count


def of_theirs() -> tuple[dict[str, list[int]], list[str]]:
    """The parameters and restrictions of Kernel Tuner. It defines a macro for each parameter, with its name."""
    names = {"block_x": "BLOCK_X", "block_y": "BLOCK_Y"}
    names |= {
        p: macro for entry in declared_kernel()["macros"] if isinstance(entry, dict) for macro, p in entry.items()
    }
    parameters: dict[str, list[int]] = {}
    restrictions = []
    for name, values in space().items():
        if name == "block":
            pairs = [tuple(map(int, str(v).split("x"))) for v in values]
            parameters |= {names[f"block_{a}"]: sorted({p[i] for p in pairs}) for i, a in enumerate("xy")}
            allowed = (f"(BLOCK_X == {x} and BLOCK_Y == {y})" for x, y in pairs)
            restrictions.append(" or ".join(allowed))
        else:
            parameters[names[name]] = list(values)
    restrictions += [
        re.sub(r"[a-z_]+", lambda found: names.get(found[0], found[0]), str(constraint).strip())
        for constraint in declared_kernel()["constraints"]
    ]
    return parameters, restrictions


def counted_by_theirs() -> int:
    """How many combinations Kernel Tuner finds legal."""
    from kernel_tuner.searchspace import Searchspace  # noqa: PLC0415  (only needed here)

    parameters, restrictions = of_theirs()
    return int(Searchspace(parameters, restrictions, 1024).size)


def tune(strategy: str, seed: int, seconds: float, size: int, backend: str, to: Path) -> None:
    """The process of a search by Kernel Tuner. Writes its results, in the order in which they were measured."""
    import kernel_tuner  # noqa: PLC0415
    import numpy as np  # noqa: PLC0415

    drawn = np.random.default_rng(0)
    a, b = (drawn.random((size, size), dtype=np.float32) for _ in range(2))
    product = np.array(a.astype(np.float64) @ b.astype(np.float64), np.float32)
    parameters, restrictions = of_theirs()

    def blocks(chosen: Mapping[str, int]) -> int:
        rows, columns = chosen["BLOCK_Y"] * chosen["PER_Y"], chosen["BLOCK_X"] * chosen["PER_X"]
        return -(-size // rows) * -(-size // columns)

    results, _ = kernel_tuner.tune_kernel(  # type: ignore[attr-defined]  # mypy takes kernel_tuner.py for it
        KERNEL,
        (ROOT / "kernels" / f"{KERNEL}.cu").read_text(encoding="utf-8"),
        blocks,
        [a, b, np.zeros_like(product), *(np.int32(size) for _ in "mnk")],
        parameters,
        restrictions=restrictions,
        grid_div_x=[],
        block_size_names=["BLOCK_X", "BLOCK_Y"],
        answer=[None, None, product, None, None, None],
        atol=TOLERATED * size,
        strategy=strategy,
        strategy_options={"time_limit": seconds},
        seed=seed,
        lang=backend,
        quiet=True,
    )
    measured: dict[tuple[int, ...], float | None] = {}
    for result in results:
        took = result.get("time")
        measured.setdefault(tuple(int(result[name]) for name in parameters), took if isinstance(took, float) else None)
    to.write_text(json.dumps({"parameters": list(parameters), "measured": list(measured.items())}), encoding="utf-8")


def read_theirs(path: Path, strategy: str, seed: int, most: int) -> Found:
    """What a search by Kernel Tuner has found in its first `most` cases."""
    if not path.is_file():
        return Found(strategy, seed, 0, ())
    content = json.loads(path.read_text(encoding="utf-8"))
    own = {macro: p for entry in declared_kernel()["macros"] if isinstance(entry, dict) for macro, p in entry.items()}
    good = []
    for numbers, took in content["measured"][:most]:
        chosen = dict(zip(content["parameters"], numbers, strict=True))
        block = ("block", f"{chosen.pop('BLOCK_X')}x{chosen.pop('BLOCK_Y')}")
        if took is not None:
            good.append((took, (block, *((own[macro], str(v)) for macro, v in chosen.items()))))
    return Found(strategy, seed, len(content["measured"]), tuple(values for _, values in sorted(good)))


def read_ours(folder: Path, seed: int, most: int) -> Found:
    """What our search has found in its first `most` cases; those of the last sweep count first."""
    if not (folder / "results.csv").is_file():
        return Found("ours", seed, 0, ())
    with (folder / "results.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    good = [r for r in rows if r["status"] == "ok" and int(r["job"]) < most]
    good.sort(key=lambda r: (-int(r["rounds"]), float(r["median_us"])))
    return Found("ours", seed, len(rows), tuple(tuple((name, r[name]) for name in space()) for r in good))


def anew(winners: Sequence[Values], folder: Path, options: Sequence[str]) -> list[str]:
    """The command of the sweep at the end. Its cases are no product of values: each is an experiment."""
    files = folder / "winners" / "experiment"
    files.mkdir(parents=True, exist_ok=True)
    for number, values in enumerate(winners):
        content = {"defaults": [{"override /kernel": KERNEL}], **dict(values)}
        text = "# @package _global_\n" + yaml.safe_dump(content, sort_keys=False)
        (files / f"winner{number}.yaml").write_text(text, encoding="utf-8")
    names = ",".join(f"winner{number}" for number in range(len(winners)))
    command = [*_runner(), "--config-dir", str(files.parent), f"experiment={names}", *options]
    return [*command, f"hydra.sweep.dir={folder / 'anew'}", "--quiet"]


def times_of(winners: Sequence[Values], folder: Path, options: Sequence[str]) -> dict[Values, float]:
    """The times of the winners, measured side by side."""
    shutil.rmtree(folder / "anew", ignore_errors=True)
    subprocess.run(anew(winners, folder, options), check=False, cwd=ROOT)
    with (folder / "anew" / "results.csv").open(encoding="utf-8") as file:
        rows = [row for row in csv.DictReader(file) if row["status"] == "ok"]
    return {tuple((name, row[name]) for name in space()): float(row["median_us"]) for row in rows}


def verdicts(found: Sequence[Found], times: Mapping[Values, float], combinations: int) -> str:
    """A line for each search."""
    best = min(times.values())
    lines = [f"best known: {best:.2f} us", "", "| search | seed | cases | of the space | time of its best | goal |"]
    lines.append("|---|---|---|---|---|---|")
    for f in found:
        took = times.get(f.best[0]) if f.best else None
        ratio = f"{took:.2f} us, {took / best - 1:+.1%}" if took else "none"
        goal = "reached" if took and took <= best * (1 + GOAL_MORE) else "not reached"
        lines.append(f"| {f.search} | {f.seed} | {f.cases} | {f.cases / combinations:.2%} | {ratio} | {goal} |")
    return "\n".join(lines) + "\n"


def _runner() -> list[str]:
    return [sys.executable, "-m", "runner"]


def main() -> None:
    """Search, measure anew, and print the verdicts."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--size", type=int, default=1024)
    parser.add_argument(
        "--strategies", default="hybrid_vndx,adaptive_tabu_greywolf", help="of Kernel Tuner; '' for none"
    )
    parser.add_argument("--backend", default="CUDA", help="of Kernel Tuner: CUDA is PyCUDA; nvcuda is NVIDIA's")
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--cases", type=int, default=0, help="at most so many for each of our searches; 0 is no limit")
    parser.add_argument("--out", type=Path, default=Path("outputs/search-benchmark"))
    parser.add_argument("--dry-run", action="store_true")
    parser.add_argument("--tune", nargs=2, metavar=("STRATEGY", "SEED"), help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.tune:
        strategy, seed = given.tune
        tune(strategy, int(seed), given.seconds, given.size, given.backend, given.out)
        return
    given.out.mkdir(parents=True, exist_ok=True)
    options = [f"device={given.device}", f"size={given.size}x{given.size}", f"inner={given.size}"]
    strategies = [s for s in given.strategies.split(",") if s]
    combinations = legal()
    most = int(GOAL_SHARE * combinations)
    found: list[Found] = []
    for seed, search in itertools.product(range(given.seeds), ("ours", *strategies)):
        to = given.out.resolve() / (f"ours-{seed}" if search == "ours" else f"{search}-{seed}.json")
        if search == "ours":
            command = [*_runner(), "experiment=matmul_search", *options, "hydra.sweeper.patience=0"]
            command += [f"hydra.sweeper.max_seconds={given.seconds}", f"hydra.sweeper.max_cases={given.cases}"]
            command += [f"hydra.sweeper.seed={seed}", f"hydra.sweep.dir={to}", "--quiet"]
        else:
            command = [sys.executable, __file__, "--tune", search, str(seed), "--seconds", str(given.seconds)]
            command += ["--size", str(given.size), "--backend", given.backend, "--out", str(to)]
        if given.dry_run:
            print(shlex.join(command))
            continue
        if not to.exists():
            started = time.perf_counter()
            subprocess.run(command, check=False, cwd=ROOT)
            print(f"{search}, seed {seed}: {time.perf_counter() - started:.1f} s")
        found.append(read_ours(to, seed, most) if search == "ours" else read_theirs(to, search, seed, most))
    if given.dry_run:
        print(f"ours: {combinations:,} legal combinations")
        if strategies:
            print(f"Kernel Tuner: {counted_by_theirs():,} legal combinations")
        return
    winners = list(dict.fromkeys(values for f in found for values in f.winners()))
    if not winners:
        sys.exit("no search has found a case")
    print(verdicts(found, times_of(winners, given.out.resolve(), options), combinations))


if __name__ == "__main__":
    main()
