"""The stage that checks a sweep for races: which rows are checked, for how long, and how their rows change."""

from __future__ import annotations

import math
import re
from collections import deque
from collections.abc import Sequence
from concurrent.futures import Future
from dataclasses import dataclass

from runner import interruption
from runner.device.kinds import CHECKED, is_gpu
from runner.errors import join_findings
from runner.jobs.job import Job
from runner.jobs.settings import RACES_ALL, RACES_NONE
from runner.kernel.case import Case
from runner.kernel.sizes import CONSTRAINT_HINT
from runner.record.folder import RunFolder
from runner.stages.checked.pool import Pool
from runner.stages.races.launches import Findings, cached, check
from runner.stages.races.variants import (
    INTERRUPTED,
    NO_TIME,
    NOT_READY,
    OWN_SIZE,
    POSTPONED,
    RACE_FOUND,
    Row,
    Variant,
    format_changed_parameters,
    in_order,
    small_cases,
    variants,
)
from runner.sweep.stage import Bench, Stage

CORRECT = ("ok", "unproven")
WRONG = ("mismatch", "hazard")  # findings are added to their reasons, unless these name a line
_LINE = re.compile(r"\.cuh?:\d+: ")

LIMIT_S = 2.0  # time limit of a launch
VARIANTS_PER_WORKER, VARIANTS_PER_WORKER_ON_GPU = 8, 1  # a GPU's machine has idle cores
MAX_NAMED = 2  # findings that are added to the reason of a wrong row


class Races(Stage):
    """Checks the variants of a sweep for races, and writes the findings to their rows.

    It takes the time of the bench, but on the CPU device it always checks one variant of each kernel. `racecheck=all`
    has no limit, and only then the checked device's library is compiled, which takes seconds.
    """

    def lacks(self, job: Job, row: Row, folder: RunFolder) -> bool:
        """Whether a finished case is still to be checked for races."""
        _ = folder  # the row has this
        open_reasons = POSTPONED if job.racecheck == RACES_ALL else (INTERRUPTED,)
        checked = row.get("races_at") or row.get("races_skipped") not in (None, "", *open_reasons)
        return _is_wanted(job, row) and not checked

    def run(self, bench: Bench) -> None:
        """Check the cases that lack it. After Ctrl-C, rows that were not reached get the reason `interrupted`."""
        cases = []
        for job in bench.ledger.jobs:
            row = bench.ledger.row(job)
            if row is None or not self.lacks(job, row, bench.folder):
                continue
            if reason := _refusal(job.case):
                bench.ledger.add(job, {**row, "races_skipped": reason})
            else:
                cases.append((job, row))
        for on_gpu in (True, False):
            if own := [(job, row) for job, row in cases if is_gpu(str(row["device"])) == on_gpu]:
                _Check(own, bench).run()


@dataclass(frozen=True)
class _Look:
    """A small case of a variant, those to be looked at after it, and those before it, in which nothing is wrong."""

    variant: Variant
    small: Case
    later: tuple[Case, ...] = ()
    before: tuple[tuple[Case, Findings], ...] = ()


class _Check:
    """Checks the variants of a sweep on one kind of device, in parallel."""

    def __init__(self, cases: Sequence[tuple[Job, Row]], bench: Bench) -> None:
        self._bench, self._ledger, self._folder, self._progress = bench, bench.ledger, bench.folder, bench.progress
        first, others = in_order(variants(cases))
        self._waiting = deque([*first, *others])
        on_gpu = is_gpu(str(cases[0][1]["device"]))
        self._unlimited = set[Variant]() if on_gpu else set(first)
        self._running: dict[Future[Findings], _Look] = {}
        self._pool = bench.shared(Pool)
        self._is_ready = self._pool.is_ready(cases[0][0].device.compile_limits)
        per_worker = VARIANTS_PER_WORKER_ON_GPU if on_gpu else VARIANTS_PER_WORKER
        self._max_running = min(self._pool.size, 1 + len(self._waiting) // per_worker)

    def run(self) -> None:
        """Check all variants, or as many as the time allows."""
        self._progress.stage("looking for races", len(self._waiting))
        reason = NO_TIME if self._is_ready else NOT_READY
        try:
            self._pool.run(
                self._begin,
                self._running,
                lambda look: self._remaining_s(look.variant),
                self._take,
                lambda look: self._progress.show_step(look.small.label),
            )
        except (KeyboardInterrupt, OSError):  # OSError if a worker was killed in the middle of a message
            interruption.check()
            raise
        finally:
            reason = INTERRUPTED if interruption.heard() else reason
            for look in self._running.values():
                self._end(look, reason)
            for variant in self._waiting:
                self._skip(variant, reason)

    def _begin(self) -> bool:
        """Start variants while workers and time are left. Returns whether any is running."""
        while self._waiting and len(self._running) < self._max_running and self._remaining_s(self._waiting[0]) > 0:
            self._begin_one(self._waiting[0])
            self._waiting.popleft()
        return bool(self._running)

    def _begin_one(self, variant: Variant) -> None:
        """Start a variant, or write its findings from the cache, or why it is not checked."""
        small = small_cases(variant.job.case)
        if isinstance(small, str):
            self._skip(variant, small)
        else:
            self._look(_Look(variant, small[0], tuple(small[1:])))

    def _look(self, look: _Look) -> None:
        job = look.variant.job
        limit_s = math.inf if job.racecheck == RACES_ALL else LIMIT_S
        launch = look.small, job.device, min(limit_s, job.device.time_limit_s)
        if findings := cached(*launch):
            self._take(look, findings)
        elif not self._pool.can_start(self._remaining_s(look.variant)):
            self._end(look, NO_TIME)
        else:
            self._running[self._pool.start(check, *launch)] = look

    def _remaining_s(self, variant: Variant) -> float:
        """The time that is left for a variant."""
        if variant.job.racecheck == RACES_ALL or (self._is_ready and variant in self._unlimited):
            return math.inf
        return self._bench.remaining_s if self._is_ready else 0.0

    def _take(self, look: _Look, findings: Findings) -> None:
        """Write the findings in a variant's small case to the variant's rows, or look at its next one."""
        if findings.reason:
            self._end(look, findings.reason)
            return
        looked = (*look.before, (look.small, findings))
        if look.later and not _texts(findings):
            self._look(_Look(look.variant, look.later[0], look.later[1:], looked))
        else:
            self._write(look.variant, looked)

    def _end(self, look: _Look, reason: str) -> None:
        """Look no further: write what was found before, or the reason if that is nothing."""
        if look.before:
            self._write(look.variant, look.before)
        else:
            self._skip(look.variant, reason)

    def _write(self, variant: Variant, looked: Sequence[tuple[Case, Findings]]) -> None:
        """Write the findings in small cases to a variant's rows: those of the last one, or else what is noted."""
        noted = next((one for one in looked if one[1].findings), looked[-1])
        small, found = looked[-1] if _texts(looked[-1][1]) else noted
        for job, row in variant.cases:
            columns = _columns(row, format_changed_parameters(job.case, small), found)
            at = ", ".join(format_changed_parameters(job.case, case) or OWN_SIZE for case, _ in looked)
            new = {**row, **columns, "races_at": at, "races_skipped": None}
            if found.findings and _texts(found):
                self._folder.write_json(self._folder.hazards(job.number), list(found.findings))
            self._ledger.add(job, new)
            if new["status"] != row["status"]:
                self._progress.row(job.case.label, new)
        self._progress.step()

    def _skip(self, variant: Variant, reason: str) -> None:
        for job, row in variant.cases:
            self._ledger.add(job, {**row, "races_skipped": reason})
        self._progress.step()


def _columns(row: Row, size: str, found: Findings) -> Row:
    """The columns of a row that findings change; `size` is that of the small case, empty if it is the row's own."""
    at = f" at {size}" if size else ""
    where = f"on the {RACE_FOUND}{at}"
    unmeant = f"; {CONSTRAINT_HINT}" if size and any(f["kind"] == "outside" for f in found.findings) else ""
    texts, same_value = _texts(found), [str(f["text"]) for f in found.findings if f["same_value"]]
    if row["status"] in CORRECT and texts:
        return {"status": "hazard", "reason": f"{where}: {join_findings(texts)}{unmeant}"}
    if row["status"] in WRONG and texts:
        return {"reason": f"{row['reason']}; the {RACE_FOUND} finds{at}: {join_findings(texts[:MAX_NAMED])}"}
    if same_value:  # a note only, as in compute-sanitizer
        return {"note": "; ".join(filter(None, (row.get("note"), f"{where}: {join_findings(same_value[:MAX_NAMED])}")))}
    return {}


def _texts(found: Findings) -> list[str]:
    """The violations, one sentence each, without races in which all threads store the same value."""
    return [*found.violations, *(str(f["text"]) for f in found.findings if not f["same_value"])]


def _is_wanted(job: Job, row: Row) -> bool:
    """Whether a case is to be checked; in a search, only its best cases are."""
    if job.racecheck == RACES_NONE or job.look or row.get("device") == CHECKED:
        return False
    if row["status"] in CORRECT:
        return True
    return row["status"] in WRONG and not job.case.hazard and not _LINE.search(str(row.get("reason") or ""))


def _refusal(case: Case) -> str:
    """Why a case cannot be checked; empty if it can."""
    if case.hazard:
        return "its YAML declares a hazard"
    return f"GPU only: {case.kernel.gpu_only}" if case.kernel.gpu_only else case.kernel.opaque
