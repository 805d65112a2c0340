"""What a run has checked, in sentences for the report, and on one line for the terminal."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from runner.device import Form
from runner.device.kinds import brief_caution, caution, is_gpu, label
from runner.display.text import absent, count, limited, listed, one_line
from runner.display.text import sentences as sentences_of
from runner.jobs.settings import SANITIZERS
from runner.record.environment import NOT_KEPT
from runner.record.ranking import IDLE
from runner.record.run import Run
from runner.record.runs import section
from runner.report import profiled
from runner.report.missing import command
from runner.stages.profile.sanitizer import NAME as SANITIZER
from runner.stages.races.variants import APART, NOT_READY, OWN_SIZE, POSTPONED, RACE_FOUND

Row = dict[str, Any]

MAX_NAMES = 6  # kernels in a sentence
PART, WITHIN = "{} ({:,} of {:,} {})", "{}: {} of {} {}"  # the second where parentheses are around it already
MAX_REASONS, MAX_RACE_REASONS = 3, 2  # in a sentence

RACES = "Races, uninitialized and out-of-bounds accesses"
LOOKS_FOR_RACES = ("memcheck", "racecheck", "initcheck")  # tools that find what `RACES` names
OPAQUE = ("GPU only: ", Form.PYTHON.label)  # beginnings of `races_skipped` where no device can look inside
CALLED = "Checked on {}: values{}. Not checked: what the Python functions do inside, speed."
CALLED_BRIEF = "Checked: values{}; not what the Python functions do inside, speed."


def sentences(run: Run) -> list[str]:
    """What was checked and what was not, for each kind of device; why other sizes were not tried."""
    races = {kind: races_sentence(run, kind) for kind in sorted(set(run.frame["device"]))}
    checked = {kind: _checked(run, kind, races[kind]) for kind in _launched(run)}
    unchecked = [sentence for kind, sentence in races.items() if not checked.get(kind)]
    return [*filter(None, [*unchecked, *checked.values()]), *_sizes_not_tried(run), *_not_kept(run)]


def in_brief(run: Run) -> list[str]:
    """The same with one line for each kind of device; what was not looked for keeps its sentence."""
    lines, kinds = [], sorted(set(run.frame["device"]))
    for kind in kinds:
        variants = _variants(run, kind)
        done = [group for group in variants if all(row["races_at"] for row in group)]
        races = _part(PART, len(done), len(variants), "races", "variants")
        sizes, orders = _further(run, kind, PART)
        line = brief_caution(kind, sizes, orders, races) if kind in _launched(run) else ""
        if line and _only_called(run, kind):
            line = CALLED_BRIEF.format(f", {sizes}" if sizes else "")
        line = f"On {label(kind)}: {line[:1].lower()}{line[1:]}" if line and len(kinds) > 1 else line
        lines += [line, "" if line and done else races_sentence(run, kind)]
    return [*filter(None, lines), *_not_kept(run)]


def _not_kept(run: Run) -> list[str]:
    """The included files that the run folder does not have, without their folders; an empty list if it has all."""
    paths = section(run.environment, "sources").get(NOT_KEPT)
    names = [one_line(Path(str(path)).name, 60) for path in paths] if isinstance(paths, list) else []
    if not names:
        return []
    files = listed(limited(names, MAX_NAMES))
    return [f"Not kept with the run, as outside the kernel's folders and those of `include`: {files}."]


def _launched(run: Run) -> list[str]:
    launched = run.frame[~run.frame["status"].isin((*IDLE, "compile_error"))]
    return sorted(set(launched["device"]))


def _only_called(run: Run, kind: str) -> bool:
    """Whether all that ran on a kind of device without a GPU were Python functions, which alone have no grid there."""
    grids = [row.get("grid") for row in run.rows if row["device"] == kind and row["status"] == "ok"]
    return not is_gpu(kind) and bool(grids) and all(map(absent, grids))


def _part(form: str, number: int, total: int, what: str, noun: str) -> str:
    """`what`, in this form if it was not all; empty if none."""
    return "" if not number else what if number == total else form.format(what, number, total, noun)


def _further(run: Run, kind: str, form: str) -> tuple[str, str]:
    """Further checks of values that all or some correct cases had: at other sizes, in other orders of threads."""
    correct = run.frame[(run.frame["device"] == kind) & (run.frame["status"] == "ok")]
    columns = (("size_launches", "other sizes"), ("order_launches", "other orders of threads"))
    sizes, orders = (
        _part(form, int((correct[column].fillna(0) > 0).sum()), len(correct), what, "cases") for column, what in columns
    )
    return sizes, orders


def _checked(run: Run, kind: str, races: str) -> str:
    """What a run without a GPU has checked; empty for a GPU."""
    sizes, orders = _further(run, kind, WITHIN)
    if _only_called(run, kind):
        return CALLED.format(label(kind), f" (also at {sizes})" if sizes else "")
    return caution(kind, sizes and f"at {sizes}", orders and f"in {orders}", races)


def _sizes_not_tried(run: Run) -> list[str]:
    """One sentence on the kernels that were not tried at other sizes, and why; an empty list if all were."""
    lacking = run.frame[(run.frame["status"] == "ok") & (run.frame["sizes_not_tried"] != "")]
    parts = []
    for reason, rows in lacking.groupby("sizes_not_tried", sort=False):
        kernels = [one_line(str(kernel), 60) for kernel in dict.fromkeys(rows["kernel"])]
        parts.append(f"{listed(limited(kernels, MAX_NAMES))} ({one_line(str(reason), 120)})")
    further = [f"{count(len(parts) - MAX_REASONS, 'more reason')}"] if len(parts) > MAX_REASONS else []
    return [f"Other sizes were not tried for {'; '.join([*parts[:MAX_REASONS], *further])}."] if parts else []


def races_sentence(run: Run, kind: str) -> str:
    """Describe the check for races of the cases on a kind of device, such as `cpu`; empty if none was requested."""
    variants, (sanitized, is_all) = _variants(run, kind), _sanitized(run, kind)
    checked = [group for group in variants if all(row["races_at"] for row in group)]
    if not checked:
        unchecked = f"{RACES} were not looked for: {_skipped_reasons(run.path, variants)}." if variants else ""
        return sentences_of(sanitized, "" if is_all else unchecked)
    number = sum(any(RACE_FOUND in str(row["reason"]) for row in group) for group in checked)
    small = " at small sizes" if any(OWN_SIZE not in str(row["races_at"]) for group in checked for row in group) else ""
    others = [group for group in variants if group not in checked]
    more = f" Not in the others: {_skipped_reasons(run.path, others)}." if others else ""
    total = f"{len(checked):,} of {count(len(variants), 'variant')}"
    found = f"{RACES}: looked for in {total}{small}, {f'found in {number:,}' if number else 'none found'}.{more}"
    return sentences_of(sanitized, found)


def _sanitized(run: Run, kind: str) -> tuple[str, bool]:
    """What compute-sanitizer did not object to, in a sentence, and if it looked for races in all correct cases."""
    correct = int(((run.frame["device"] == kind) & (run.frame["status"] == "ok")).sum())
    records = [record for row, record in profiled.cases(run, SANITIZER) if row["device"] == kind]
    tools = [tool for tool in SANITIZERS if any(tool in _names(record.get("tools")) for record in records)]
    clean = sum(not record.get("findings") for record in records)
    if not clean or not tools:
        return "", False
    looked = sum(set(LOOKS_FOR_RACES) <= set(_names(record.get("tools"))) for record in records)
    return (
        f"compute-sanitizer ({listed(tools)}) found nothing in {clean:,} of {count(correct, 'case')}.",
        looked == correct,
    )


def _names(value: Any) -> list[str]:
    return [name for name in value if isinstance(name, str)] if isinstance(value, list) else []


def _variants(run: Run, kind: str) -> list[list[Row]]:
    """What the cases of each variant say of their check for races; empty if nobody asked for one."""
    rows = [row for row in run.rows if row["device"] == kind]
    if not any(row["races_at"] or row["races_skipped"] for row in rows):
        return []
    unasked = "of a search only the winners are checked" if run.search else "not asked for"
    names = [name for name in run.parameters if name not in (*APART, "device")]
    variants: dict[tuple[str, ...], list[Row]] = {}
    for row in rows:
        requested = row["races_at"] or row["races_skipped"]
        if requested or row["status"] == "ok":
            known = {column: row[column] for column in ("races_at", "races_skipped", "reason")}
            known |= {} if requested else {"races_skipped": unasked}
            variants.setdefault(tuple(str(row[name]) for name in names), []).append(known)
    return list(variants.values())


def _skipped_reasons(folder: Path, variants: Iterable[list[Row]]) -> str:
    """Why variants of a run were not checked, the most frequent reasons first, and what to do."""
    reasons = Counter(str(next(row["races_skipped"] for row in rows if not row["races_at"])) for rows in variants)
    advice = f"`{command(folder, 'races')}` looks for them" if set(POSTPONED) & set(reasons) else ""
    looked_into = {reason: n for reason, n in reasons.items() if not reason.startswith(OPAQUE)}
    reasons = Counter(looked_into or reasons)  # what nobody can look into is told if it is all there is
    if set(reasons) == {NOT_READY}:  # the usual first sweep: nobody asked for it yet
        return f"{advice}, once it has compiled a library"
    first = reasons.most_common(MAX_RACE_REASONS)
    words = [f"{reason}{f' ({number:,})' if len(reasons) > 1 else ''}" for reason, number in first]
    more = reasons.total() - sum(number for _, number in first)
    words += [f"and {more:,} more, see races_skipped"] if more else []
    return one_line("; ".join(words), 400) + (f"; {advice}" if advice else "")
