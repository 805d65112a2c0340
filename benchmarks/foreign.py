"""Runs every kernel of public repositories, by YAML alone and with their files as they are: a line for each.

    python benchmarks/foreign.py CLONE... [--device cpu|cuda] [--out FILE] [--keep FOLDER]

A clone is a folder called as one in benchmarks/foreign, which has our YAMLs; they find it by a link called `clone`:

    git clone https://github.com/karpathy/llm.c
    git clone https://github.com/siboehm/SGEMM_CUDA

A kernel that is not `ok` has the runner's message as its reason, and behind it the kernel's `summary`: what the source
does there, found by reading it.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import re
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

import pandas as pd
import yaml
from sweeps import ROOT, stop, swept

YAMLS = ROOT / "benchmarks" / "foreign"
_DETAIL = re.compile(r"; |: \S+\[\d+\] is ")  # the elements that differ, and advice


def swept_table(clone: Path, device: str, keep: Path | None) -> str:
    """The table of one clone: its commit, the device, and file, kernel, outcome and reason of each kernel.

    Args:
        clone: Its folder.
        device: `cpu` or `cuda`.
        keep: A folder for the results.csv of the sweep.
    """
    with tempfile.TemporaryDirectory() as folder:
        conf = shutil.copytree(YAMLS / clone.name, Path(folder) / clone.name)
        (conf / "clone").symlink_to(clone.resolve(), target_is_directory=True)
        names = ",".join(sorted(p.stem for p in conf.glob("kernel/*.yaml")))
        arguments = (f"--config-dir={conf}", f"kernel={names}", f"device={device}", "timing=quick")
        with swept(*arguments, status=None) as run:
            if keep:
                shutil.copy(run / "results.csv", keep / f"{clone.name}.csv")
            results = pd.read_csv(run / "results.csv", keep_default_na=False)
            (info,) = json.loads((run / "environment.json").read_text(encoding="utf-8"))["devices"].values()
        rows = sorted(_row(conf, result) for result in results.to_dict("records"))
    versions = ", ".join(f"{name} {version}" for name, version in info["versions"].items())
    counts = ", ".join(f"{n} {outcome}" for outcome, n in Counter(row[2] for row in rows).most_common())
    widths = [max(len(row[column]) for row in rows) for column in range(3)]
    lines = ("  ".join([*(c.ljust(w) for c, w in zip(row, widths, strict=False)), row[3]]).rstrip() for row in rows)
    return "\n".join((f"{clone.name} at {_commit(clone)}, {info['name']}, {versions}", counts, "", *lines)) + "\n"


def _row(conf: Path, result: dict[Any, Any]) -> tuple[str, str, str, str]:
    """File, function, outcome and reason of one kernel."""
    own = yaml.safe_load((conf / "kernel" / f"{result['kernel']}.yaml").read_text(encoding="utf-8"))
    family = conf / "family" / f"{own.get('family')}.yaml"
    shared = yaml.safe_load(family.read_text(encoding="utf-8")) if family.exists() else {}
    source = own.get("source") or shared.get("source", f"{result['kernel']}.cu")  # the last one includes a clone's file
    what = "" if result["status"] == "ok" else _DETAIL.split(str(result["reason"]))[0]
    reason = "; ".join(filter(None, (what, own.get("summary", "") if what else "")))
    function = own.get("function", result["kernel"])
    return source.removeprefix("../clone/"), function, str(result["status"]), reason


def _commit(clone: Path) -> str:
    done = subprocess.run(
        ["git", "-C", str(clone), "rev-parse", "--short=7", "HEAD"], capture_output=True, text=True, check=False
    )
    own = done.returncode == 0 and (clone / ".git").exists()
    return done.stdout.strip() if own else "an unknown commit"


def main() -> None:
    """Print, or write, the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("clones", nargs="+", type=Path, metavar="CLONE")
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cpu")
    parser.add_argument("--out", type=Path, metavar="FILE", help="in place of the terminal")
    parser.add_argument("--keep", type=Path, metavar="FOLDER", help="for the results.csv of each sweep, as CLONE.csv")
    given = parser.parse_args()
    for clone in given.clones:
        if not clone.is_dir() or not (YAMLS / clone.name / "kernel").is_dir():
            known = ", ".join(sorted(p.name for p in YAMLS.iterdir()))
            stop(f"{clone}: expected the folder of a clone called as one of {known}")
    with given.out.open("w", encoding="utf-8") if given.out else contextlib.nullcontext(sys.stdout) as stream:
        for number, clone in enumerate(given.clones):
            table = swept_table(clone, given.device, given.keep)
            stream.write(f"{'' if number == 0 else chr(10)}{table}")
            stream.flush()  # the next sweep takes minutes


if __name__ == "__main__":
    main()
