"""Measure kernels beside their baseline, and judge them by the verdict of the run: the work of `runner judge`."""

from __future__ import annotations

import contextlib
import json
import shlex
import statistics
import sys
from argparse import Namespace
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from runner import report
from runner.ci import targets
from runner.ci.judged import against, results
from runner.cli import INTERRUPTED, Options, say
from runner.commands import candidates
from runner.commands.run_sweep import run_sweep
from runner.compose import app
from runner.compose.names import nearest
from runner.display.console import short_path
from runner.display.table import Table
from runner.display.text import count, one_line, plain
from runner.errors import UsageError
from runner.record.folder import RunFolder
from runner.record.run import Run, read
from runner.record.runs import LATEST, find_one, is_run, reading
from runner.report import verdict
from runner.sweep.session import Session

FASTER, WRONG, SKIPPED, NOT_FASTER, UNDECIDED = 0, 1, 2, 3, 4
WORDS = {FASTER: "faster", WRONG: "wrong", SKIPPED: "skipped", NOT_FASTER: "not faster", UNDECIDED: "undecided"}
"""The word for each exit status, the best first in `BEST_FIRST`."""
BEST_FIRST = (FASTER, UNDECIDED, NOT_FASTER, SKIPPED, WRONG)
HEADS = ("rank", "kernel", "judgement", "speed-up", "correct cases", "reason")


@dataclass(frozen=True)
class Judgement:
    """The judgement on a kernel."""

    kernel: str
    word: str  # one of `WORDS`
    exit_status: int  # of `runner judge` for this kernel alone
    speedup: float | None  # geometric mean over its cases; `None` if a case cannot be compared, or is wrong
    low: float | None  # the least favourable end of all intervals
    high: float | None  # the most favourable one
    correct: int  # number of its correct cases
    cases: int  # number of its cases without skipped ones
    sentence: str

    @property
    def order(self) -> tuple[int, float, str]:
        """Sorts judgements: the best one first."""
        return BEST_FIRST.index(self.exit_status), -(self.speedup or 0.0), self.kernel


def judge(options: Namespace) -> int:
    """Run the kernels beside the baseline and print the judgement; returns the exit status of `runner judge`."""
    folders = [word for word in options.words if "=" not in word]
    overrides = [word for word in options.words if "=" in word]
    if bool(folders) == (options.kernel is not None) or len(folders) > 1:
        given = " ".join([*([f"--kernel {options.kernel}"] if options.kernel is not None else []), *folders]) or "none"
        raise UsageError(f"{given}: expected one kernel, as --kernel NAME, or one folder of candidates")
    wanted = targets.parsed(options)
    targets.refuse_same(wanted.files)
    _refuse(options, overrides)
    if folders:
        return _judge_folder(Path(folders[0]), options, overrides, wanted)
    return _judge_one(options, overrides, wanted)


def _refuse(options: Namespace, overrides: Sequence[str]) -> None:
    """Refuse names and overrides that do not name exactly one kernel each."""
    kernel, baseline = options.kernel, options.baseline
    if kernel == baseline:
        raise UsageError(f"--baseline {baseline}: the same as --kernel; name a different kernel to compare with")
    for option, name in (("--kernel", kernel or ""), ("--baseline", baseline)):
        if "," in name or "(" in name:  # Hydra's syntax for several values
            raise UsageError(f"{option} {name}: expected the name of one kernel; `runner show` lists all")
    for override in overrides:
        if override.lstrip("+~").partition("=")[0] == "kernel":
            raise UsageError(f"{override}: --kernel and --baseline name the kernels")


def _judge_one(options: Namespace, overrides: Sequence[str], wanted: targets.Targets) -> int:
    kernel, baseline, session = options.kernel, options.baseline, Session()
    with _stdout_for_json(options):
        status = _run(session, [kernel, baseline], options, overrides)
    if not _has_results(session, status):
        return status
    run, content = _verdict(session, baseline)
    lines, status = judgement(kernel, baseline, content["cases"])
    found = judged(kernel, baseline, content["cases"])
    if options.json:
        _print_json({**content, "judgement": asdict(found)})
    else:
        sys.stdout.write("\n".join(lines) + "\n")
    _tell(run, content, [found], options, wanted)
    return status


def _judge_folder(folder: Path, options: Namespace, overrides: Sequence[str], wanted: targets.Targets) -> int:
    if str(folder).partition("~")[0] == LATEST and not folder.exists():
        folder = find_one(str(folder))
    if not folder.is_dir():
        why = "a file" if folder.exists() else "there is no such folder"
        raise UsageError(f"{folder}: {why}; expected a folder of candidates or of a run, or KEY=VALUE")
    if is_run(folder):
        return _judge_run(folder, options, overrides, wanted)
    baseline, session = options.baseline, Session(Options(quiet=True))
    session.typed = ("judge", str(folder), "--baseline", baseline, *_config_dir(options), *overrides)
    with candidates.opened(folder, baseline, [*_config_dir(options), *overrides]) as found:
        search = [f"hydra.searchpath=[{','.join(map(str, found.folders))}]"] if found.folders else []
        try:
            with _stdout_for_json(options):
                status = _run(session, [baseline, *found.names], options, [*search, *overrides])
        except KeyboardInterrupt:
            if session.folder and is_run(session.folder.path):
                path = shlex.quote(short_path(session.folder.path))
                say(f"then python -m runner judge {path} --baseline {baseline} ranks the candidates", INTERRUPTED)
            raise
    if not _has_results(session, status):
        return status
    run, content = _verdict(session, baseline)
    names = (*found.names, *found.unusable)
    return _rank(run, content, names, {**found.unusable, **session.left_out}, options, wanted)


def _judge_run(path: Path, options: Namespace, overrides: Sequence[str], wanted: targets.Targets) -> int:
    """Judge the kernels of a stored run. Nothing is run."""
    baseline = options.baseline
    if overrides:
        raise UsageError(f"{overrides[0]}: {path} is a run, which is judged as it was measured")
    for file in wanted.files:
        RunFolder(path).refuse_to_replace(file)
    with reading(path):
        run = read(path)
    if lacking := sum(run.frame["status"] == "not_run"):
        raise UsageError(f"{path}: {count(lacking, 'case')} not run yet; python -m runner resume {path} runs the rest")
    kernels = list(dict.fromkeys(run.frame["kernel"]))
    if baseline not in kernels:
        raise UsageError(f"--baseline {baseline}: {path} has no such kernel{nearest(baseline, kernels)}")
    kernels.remove(baseline)
    if not kernels:
        raise UsageError(f"{path}: the run has no other kernel than {baseline}, so there is nothing to judge")
    return _rank(run, verdict.write(run, baseline), kernels, {}, options, wanted)


def _rank(
    run: Run,
    content: Mapping[str, Any],
    names: Sequence[str],
    unusable: Mapping[str, str],
    options: Namespace,
    wanted: targets.Targets,
) -> int:
    """Rank candidates by their cases and print the table; returns the exit status of the best."""
    baseline = options.baseline
    by_kernel: dict[str, list[dict[str, Any]]] = {}
    for case in content["cases"]:
        by_kernel.setdefault(case["kernel"], []).append(case)
    ranked = [
        judged(name, baseline, [*by_kernel.get(name, []), *by_kernel.get(baseline, [])], unusable.get(name, ""))
        for name in names
    ]
    ranked.sort(key=lambda each: each.order)
    if options.json:
        entries = [{"rank": rank, **asdict(each)} for rank, each in enumerate(ranked, 1)]
        _print_json({**content, "candidates": entries})
    else:
        _print_table(table(ranked))
    _tell(run, content, ranked, options, wanted)
    return ranked[0].exit_status


def _run(session: Session, kernels: Sequence[str], options: Namespace, overrides: Sequence[str]) -> int:
    timing = [] if any(o.startswith("timing=") for o in overrides) else ["timing=thorough"]
    words = [*_config_dir(options), "-m", f"kernel={','.join(kernels)}", *timing, *overrides]
    return run_sweep(session, lambda: app.run(words, session))


def _has_results(session: Session, status: int) -> bool:
    """Whether the sweep ended with rows to judge; if not, the exit status is the sweep's."""
    return status != INTERRUPTED and session.folder is not None and session.folder.has(session.folder.results)


def _config_dir(options: Namespace) -> list[str]:
    return ["--config-dir", options.config_dir] if options.config_dir else []


def _verdict(session: Session, baseline: str) -> tuple[Run, dict[str, Any]]:
    assert session.folder  # noqa: S101  (the caller has looked)
    run = read(session.folder.path)
    return run, verdict.write(run, baseline)


def _tell(
    run: Run, content: Mapping[str, Any], ranked: Sequence[Judgement], options: Namespace, wanted: targets.Targets
) -> None:
    """Write what the CI options ask for."""

    def make() -> Any:
        head = f"### runner judge, baseline {options.baseline}\n\n"
        return results(run, content, head + table(ranked).markdown() + "\n\n" + report.as_markdown(run.path))

    targets.write(wanted, make, quiet_stdout=options.json)
    sys.stderr.write("".join(plain(f"Written: {path}") + "\n" for path in wanted.files))


@contextlib.contextmanager
def _stdout_for_json(options: Namespace) -> Iterator[None]:
    """With --json, what a sweep prints goes to stderr."""
    with contextlib.redirect_stdout(sys.stderr) if options.json else contextlib.nullcontext():
        yield


def _print_json(content: Mapping[str, Any]) -> None:
    sys.stdout.write(json.dumps(content, indent=2, allow_nan=False) + "\n")


def _print_table(ranked: Table) -> None:
    rows = [ranked.columns, *([cell.text for cell in line.cells] for line in ranked.lines)]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        sys.stdout.write("  ".join(word.ljust(n) for word, n in zip(row, widths, strict=True)).rstrip() + "\n")


def table(ranked: Sequence[Judgement]) -> Table:
    """The judgements as a table, in the given order."""
    rows = []
    for rank, each in enumerate(ranked, 1):
        speed = "" if each.speedup is None else f"{each.speedup:.3f} ({each.low:.3f} to {each.high:.3f})"
        share = f"{each.correct} of {each.cases}"
        reason = each.sentence if each.exit_status in (WRONG, SKIPPED) else ""
        rows.append((str(rank), each.kernel, each.word, speed, share, one_line(reason, 200)))
    return Table.of(HEADS, rows)


def judged(kernel: str, baseline: str, cases: Sequence[Mapping[str, Any]], unusable: str = "") -> Judgement:
    """Judge a kernel by its cases and those of its baseline, or say why it could not be run."""
    own = [case for case in cases if case["kernel"] == kernel and case["status"] != "skipped"]
    correct = [case for case in own if case["status"] == "ok"]
    lines, status = judgement(kernel, baseline, cases)
    if unusable:
        status = WRONG
    pairs = [case["against"] for case in correct if case.get("against")]
    speedup = low = high = None
    if status not in (WRONG, SKIPPED) and pairs and len(pairs) == len(own):
        speedup = statistics.geometric_mean([pair["speedup"] for pair in pairs])
        low, high = min(pair["low"] for pair in pairs), max(pair["high"] for pair in pairs)
    sentence = unusable or (lines[0] if status == WRONG else lines[-1])
    return Judgement(kernel, WORDS[status], status, speedup, low, high, len(correct), len(own), sentence)


def judgement(kernel: str, baseline: str, cases: Sequence[Mapping[str, Any]]) -> tuple[list[str], int]:
    """Judge the entries of `cases` in verdict.json, of which skipped ones count for nothing.

    Returns:
        The lines to print, and the exit status.
    """
    own = [case for case in cases if case["kernel"] == kernel and case["status"] != "skipped"]
    wrong = [case for case in cases if case["status"] not in ("ok", "skipped")]
    if wrong:
        lines = [f"{c['kernel']} {_parameters(c)}: {c['status']}: {c['reason']}" for c in wrong]
        return [*lines, f"Wrong: {wrong[0]['kernel']} is not correct in every case."], WRONG
    if not own:
        reasons = [case["reason"] for case in cases if case["kernel"] == kernel]
        return [f"Skipped: no case of {kernel} ran{f': {reasons[0]}' if reasons else ''}."], SKIPPED
    pairs = [(case, case["against"]) for case in own if case.get("against")]
    lines = [f"{kernel} {_parameters(case)}: {against(case)}" for case, _ in pairs]
    decisions = {pair["word"] for _, pair in pairs}
    if len(pairs) < len(own):
        return [*lines, f"Right, speed unknown: {kernel} has cases whose times cannot be compared."], UNDECIDED
    if decisions == {"faster"}:
        return [*lines, f"Right and faster: {kernel} is faster than {baseline} in every case."], FASTER
    if decisions <= {"faster", "undecided"}:
        return [*lines, "Right, undecided: measure more rounds, such as timing.rounds=10."], UNDECIDED
    return [*lines, f"Right, not faster: {kernel} is not faster than {baseline} in every case."], NOT_FASTER


def _parameters(case: Mapping[str, Any]) -> str:
    return " ".join(f"{name}={value}" for name, value in case["parameters"].items())
