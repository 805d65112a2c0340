"""`python -m runner.judge --kernel K --baseline B`: check that K is correct and faster than B.

For CI and for programs that write kernels: one command, an exit status, and `verdict.json` in the run's folder.

Exit status: 0 correct and faster in every case, 1 wrong, 2 usage error, 3 correct but not faster, 4 correct but
undecided (always so on the CPU device, whose times say nothing about a GPU), 130 interrupted.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

NOT_FASTER, UNDECIDED = 3, 4


def main(arguments: Sequence[str] | None = None) -> int:
    """Judge a kernel against a baseline; returns the exit status."""
    from runner.cli import Parser, run_command  # noqa: PLC0415

    parser = Parser("judge", "Check that a kernel is correct, and faster than a baseline.")
    parser.add_argument("--kernel", required=True, help="the kernel to judge")
    parser.add_argument("--baseline", required=True, help="the kernel to compare with")
    parser.add_argument("--config-dir", help="the folder with your own kernel/NAME.yaml")
    parser.add_argument("overrides", nargs="*", default=[], help="such as size=2**20,2**24 block=256")
    given = parser.parse_args(arguments)
    return run_command(lambda: _judged(given.kernel, given.baseline, given.config_dir, given.overrides))


def _judged(kernel: str, baseline: str, config_dir: str | None, overrides: Sequence[str]) -> int:
    from runner.commands.sweep import run_sweep  # noqa: PLC0415
    from runner.errors import UsageError  # noqa: PLC0415
    from runner.sweep.session import Session  # noqa: PLC0415

    if kernel == baseline:
        raise UsageError(f"--baseline {baseline}: expected a kernel other than --kernel, to compare with it")
    for option, name in (("--kernel", kernel), ("--baseline", baseline)):
        if "," in name or "(" in name:  # Hydra's syntax for several values
            raise UsageError(f"{option} {name}: expected the name of one kernel; `runner show` lists all")
    for override in overrides:
        if override.lstrip("+~").partition("=")[0] == "kernel":
            raise UsageError(f"{override}: --kernel and --baseline name the kernels")
    session = Session()

    def work() -> None:
        from runner.compose import app  # noqa: PLC0415

        timing = [] if any(o.startswith("timing=") for o in overrides) else ["timing=thorough"]
        own = ["--config-dir", config_dir] if config_dir else []
        app.run([*own, "-m", f"kernel={kernel},{baseline}", *timing, *overrides], session)

    status = run_sweep(session, work)
    if session.folder is None or status not in (0, 1):
        return status
    from runner.record.run import read  # noqa: PLC0415
    from runner.report.verdict import write  # noqa: PLC0415

    cases = write(read(session.folder.path), baseline)["cases"]
    words, status = judgement(kernel, baseline, cases)
    sys.stdout.write("\n".join(words) + "\n")
    return status


def judgement(kernel: str, baseline: str, cases: Sequence[dict[str, Any]]) -> tuple[list[str], int]:
    """Judge the cases of a verdict. Skipped cases are ignored.

    Args:
        kernel: The kernel to judge.
        baseline: The kernel to beat.
        cases: The entries of `cases` in verdict.json.

    Returns:
        The lines to print, and the exit status.
    """
    own = [case for case in cases if case["kernel"] == kernel and case["status"] != "skipped"]
    wrong = [case for case in cases if case["status"] not in ("ok", "skipped")]
    if wrong or not own:
        words = [f"{c['kernel']} {_shown(c)}: {c['status']}: {c['reason']}" for c in wrong]
        why = f"{wrong[0]['kernel']} is not right in every case" if wrong else f"no case of {kernel} ran"
        return [*words, f"Wrong: {why}."], 1
    pairs = [case["against"] for case in own if "against" in case]
    lines = [
        f"{kernel} {_shown(case)}: {one['speedup']:.3f} times the speed of {baseline} "
        f"({one['low']:.3f} to {one['high']:.3f}), {one['word']}"
        for case in own
        if (one := case.get("against"))
    ]
    found = {one["word"] for one in pairs}
    if not pairs or len(pairs) < len(own):
        return [*lines, f"Right, speed unknown: {kernel} has cases whose times cannot be compared."], UNDECIDED
    if found == {"faster"}:
        return [*lines, f"Right and faster: {kernel} is faster than {baseline} in every case."], 0
    if found <= {"faster", "undecided"}:
        return [*lines, "Right, undecided: measure more rounds, such as timing.rounds=10."], UNDECIDED
    return [*lines, f"Right, not faster: {kernel} is not faster than {baseline} in every case."], NOT_FASTER


def _shown(case: dict[str, Any]) -> str:
    return " ".join(f"{name}={value}" for name, value in case["parameters"].items())


if __name__ == "__main__":
    sys.exit(main())
