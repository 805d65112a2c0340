"""Measure a kernel beside its baseline, and judge it by the verdict of the run: the work of `runner judge`."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

from runner.commands.run_sweep import run_sweep
from runner.compose import app
from runner.errors import UsageError
from runner.record.run import read
from runner.report import verdict
from runner.sweep.session import Session

NOT_FASTER, UNDECIDED = 3, 4


def judge(kernel: str, baseline: str, config_dir: str | None, overrides: Sequence[str]) -> int:
    """Run both kernels and print the judgement; returns the exit status of `runner judge`."""
    if kernel == baseline:
        raise UsageError(f"--baseline {baseline}: the same as --kernel; name a different kernel to compare with")
    for option, name in (("--kernel", kernel), ("--baseline", baseline)):
        if "," in name or "(" in name:  # Hydra's syntax for several values
            raise UsageError(f"{option} {name}: expected the name of one kernel; `runner show` lists all")
    for override in overrides:
        if override.lstrip("+~").partition("=")[0] == "kernel":
            raise UsageError(f"{override}: --kernel and --baseline name the kernels")
    session = Session()
    timing = [] if any(o.startswith("timing=") for o in overrides) else ["timing=thorough"]
    folders = ["--config-dir", config_dir] if config_dir else []
    words = [*folders, "-m", f"kernel={kernel},{baseline}", *timing, *overrides]
    status = run_sweep(session, lambda: app.run(words, session))
    if session.folder is None or status not in (0, 1):
        return status
    cases = verdict.write(read(session.folder.path), baseline)["cases"]
    lines, status = judgement(kernel, baseline, cases)
    sys.stdout.write("\n".join(lines) + "\n")
    return status


def judgement(kernel: str, baseline: str, cases: Sequence[dict[str, Any]]) -> tuple[list[str], int]:
    """Judge the entries of `cases` in verdict.json, without skipped ones: the lines to print, and the exit status."""
    own = [case for case in cases if case["kernel"] == kernel and case["status"] != "skipped"]
    wrong = [case for case in cases if case["status"] not in ("ok", "skipped")]
    if wrong or not own:
        lines = [f"{c['kernel']} {_parameters(c)}: {c['status']}: {c['reason']}" for c in wrong]
        why = f"{wrong[0]['kernel']} is not correct in every case" if wrong else f"no case of {kernel} ran"
        return [*lines, f"Wrong: {why}."], 1
    pairs = [(case, case["against"]) for case in own if case.get("against")]
    lines = [
        f"{kernel} {_parameters(case)}: {pair['speedup']:.3f} times the speed of {baseline} "
        f"({pair['low']:.3f} to {pair['high']:.3f}), {pair['word']}"
        for case, pair in pairs
    ]
    decisions = {pair["word"] for _, pair in pairs}
    if len(pairs) < len(own):
        return [*lines, f"Right, speed unknown: {kernel} has cases whose times cannot be compared."], UNDECIDED
    if decisions == {"faster"}:
        return [*lines, f"Right and faster: {kernel} is faster than {baseline} in every case."], 0
    if decisions <= {"faster", "undecided"}:
        return [*lines, "Right, undecided: measure more rounds, such as timing.rounds=10."], UNDECIDED
    return [*lines, f"Right, not faster: {kernel} is not faster than {baseline} in every case."], NOT_FASTER


def _parameters(case: dict[str, Any]) -> str:
    return " ".join(f"{name}={value}" for name, value in case["parameters"].items())
