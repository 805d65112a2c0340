"""What a change leaves as it was, byte for byte: tables and verdicts of sweeps, and the cases of command lines.

They are recorded in tests/golden; times, and what depends on them, are masked. After a change that is meant,
`python tests/test_golden.py` writes the recorded files anew; read the difference.
"""

from __future__ import annotations

import csv
import io
import json
import re
import shlex
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any

import processes
import pytest

from runner.record.run import read
from runner.report.verdict import write

ROOT = Path(__file__).parent.parent
GOLDEN = ROOT / "tests" / "golden"
H200 = ROOT / "tests" / "h200_sweep"
COMMAND_LINES = GOLDEN / "command_lines.txt"
FILES = ("results.csv", "lines.csv", "verdict.json")

CPU = ("device=cpu", "timing=quick")
SWEEPS = {
    "sweep": (*CPU, "-m", "kernel=reduceShfl,reduceSmem", "block=64,128", "size=4096", "racecheck=all", "lines=false"),
    "wrong": (*CPU, "-m", "kernel=maskNamesAbsent,maskWithoutCaller,barrierDivergent", "lines=false"),
    "races": (*CPU, "-m", "kernel=raceBarrier,raceWarp", "repaired=0,1", "racecheck=all", "lines=false"),
    "checked": ("device=checked", "-m", "experiment=races", "lines=false"),
    "lines": (*CPU, "-m", "kernel=transposeGmem,transposeSmem,transposeSmemPad", "size=64x64", "racecheck=none",
              "lines=all"),
    "shards": (*CPU, "-m", "hydra/launcher=gpus", "hydra.launcher.shards=2", "kernel=transposeGmem,copyGmem",
               "size=64x64,64x128", "lines=false", "racecheck=none"),
    "search": (*CPU, "hydra/sweeper=search", "hydra.sweeper.sampler=grid", "kernel=transposeTile", "size=64x64",
               "block=64,128", "tile_rows=32", "tile_cols=32,64", "lines=false", "racecheck=none"),
}  # fmt: skip
MASK = "*"
MASKED = re.compile(
    r".*_us|.*_s|gflops|bandwidth_gbps|.*_percent|stop_reason|samples|checked_launches|size_launches|order_launches"
    r"|compiler|host|threads|binary|launcher|ratio"
)


def masked(name: str, text: str) -> str:
    """A file without what differs from one run, or machine, to the next."""
    if name == "verdict.json":
        verdict = _without_times(json.loads(text))
        cases = (json.dumps(case) for case in verdict.pop("cases"))
        return "\n".join([json.dumps(verdict), *cases, ""])
    # How many branches a kernel has differs between compilers.
    rows = [row for row in csv.DictReader(io.StringIO(text)) if row.get("kind") != "branch"]
    out = io.StringIO()
    writer = csv.DictWriter(out, list(rows[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(
        {key: MASK if value and MASKED.fullmatch(key) else value for key, value in row.items()} for row in rows
    )
    return out.getvalue()


def _without_times(value: Any) -> Any:
    if isinstance(value, dict):
        return {k: MASK if v is not None and MASKED.fullmatch(k) else _without_times(v) for k, v in value.items()}
    return [_without_times(v) for v in value] if isinstance(value, list) else value


def written(folder: Path) -> dict[str, str]:
    """The recorded files that a sweep has left, masked."""
    return {n: masked(n, (folder / n).read_text(encoding="utf-8")) for n in FILES if (folder / n).exists()}


def swept(name: str, place: Path) -> dict[str, str]:
    """Run a sweep as a user does."""
    run(place, "runner", *SWEEPS[name], f"hydra.sweep.dir={place / 'out'}")
    return written(place / "out")


def reported(place: Path) -> dict[str, str]:
    """Judge the sweep that an H200 measured."""
    shutil.copytree(H200, place / "out")
    write(read(place / "out"))
    return {"verdict.json": written(place / "out")["verdict.json"]}


def run(place: Path, module: str, *arguments: str) -> None:
    """Run a module; cases that fail are part of what is recorded, a refusal is not."""
    done = processes.run(place, *arguments, module=module, defaults=True)
    assert done.code in (0, 1), done.err


def recorded(name: str) -> dict[str, str]:
    """What is recorded of a sweep."""
    return {path.name: path.read_text(encoding="utf-8") for path in sorted((GOLDEN / name).iterdir())}


def planned(arguments: str, place: Path) -> str:
    """What the program says of a command line that it is not to run: its cases, or what is wrong with it."""
    done = processes.run(place, "--dry-run", *shlex.split(arguments))
    told = [line.rstrip() for line in (done.out or done.err).splitlines() if " opened in " not in line]
    return "\n".join([f"$ {arguments}", *told, f"exit status {done.code}"])


def command_lines() -> list[str]:
    """The command lines whose cases are recorded, each with what is recorded of it."""
    return COMMAND_LINES.read_text(encoding="utf-8").rstrip("\n").split("\n\n\n")


@pytest.mark.parametrize("one", command_lines(), ids=lambda one: one.partition("\n")[0][2:])
def test_a_command_line_means_the_recorded_cases(one, tmp_path):
    """Its kernels, parameters, device and constraints, or the sentence that refuses it, are those in tests/golden."""
    assert planned(one.partition("\n")[0][2:], tmp_path) == one


@pytest.mark.parametrize("name", SWEEPS)
def test_a_sweep_leaves_what_is_recorded(name, tmp_path):
    """Its rows, line costs and verdict are those in tests/golden, but for times."""
    assert swept(name, tmp_path) == recorded(name)


def test_the_report_of_a_gpu_sweep_is_the_recorded_one(tmp_path):
    """Its verdict on rows that an H200 measured is the one in tests/golden."""
    assert reported(tmp_path) == recorded("h200")


def main() -> None:
    """Record what sweeps leave now."""
    for name in sys.argv[1:] or (*SWEEPS, "h200"):
        with tempfile.TemporaryDirectory() as folder:
            found = reported(Path(folder)) if name == "h200" else swept(name, Path(folder))
        shutil.rmtree(GOLDEN / name, ignore_errors=True)
        (GOLDEN / name).mkdir(parents=True)
        for file, text in found.items():
            (GOLDEN / name / file).write_text(text, encoding="utf-8")
        sys.stdout.write(f"{name}\n")
    with tempfile.TemporaryDirectory() as folder:
        found = [planned(one.partition("\n")[0][2:], Path(folder)) for one in command_lines()]
    COMMAND_LINES.write_text("\n\n\n".join(found) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
