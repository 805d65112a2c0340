"""What the report lacks because nobody asked for it, and the command that adds it."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from runner.device.kinds import is_gpu
from runner.display.text import listed, one_line
from runner.record import runs
from runner.record.folder import RunFolder
from runner.record.run import Run
from runner.stages.races.variants import OWN_SIZE, POSTPONED, RACE_FOUND

MEANINGS = {
    "races": "a check for races of the other variants",
    "lines": "what each line costs",
    "code": "the machine code of the fastest cases",
}


@dataclass(frozen=True)
class Missing:
    """What `runner profile` would add to a run's report."""

    listed: str  # in words
    command: str


def command(folder: Path, *words: str) -> str:
    """The command line of `runner profile` for a run, by its folder's name; dots stand for the path to it elsewhere."""
    path = folder.resolve()
    where = "" if path.parent.parent.name == runs.OUTPUTS.name else ".../"
    return f"python -m runner profile {where}{shlex.quote(path.name)} {' '.join(words)}"


def for_mismatches(run: Run) -> str:
    """What may find the line of a mismatch that was not looked at for races, or at a small size only; else empty.

    If no variant was looked at, the summary's sentence on races names the command.
    """
    mismatches = [row for row in run.rows if row["status"] == "mismatch"]
    waiting = [row for row in mismatches if row["races_skipped"] in POSTPONED and not row["races_at"]]
    if waiting and any(row["races_at"] for row in run.rows):
        return f"Some mismatches were not looked at for races: `{command(run.path, 'races')}` looks for them."
    for row in mismatches:
        if row["races_at"] and OWN_SIZE not in str(row["races_at"]) and RACE_FOUND not in str(row["reason"]):
            return f"No race was found behind a mismatch at {row['races_at']}; `device=checked` looks at its own size."
    return ""


def _is_countable(folder: RunFolder, row: Mapping[str, Any]) -> bool:
    """Whether the lines of a row's kernel can be counted: not those of a kernel that only a GPU runs."""
    declaration = folder.sources / "conf" / "kernel" / f"{one_line(str(row['kernel']))}.yaml"
    text = folder.text(declaration) if declaration in folder.files(folder.sources) else ""
    return not re.search(r"^gpu_only:", text, re.MULTILINE)


def missing(run: Run) -> Missing | None:
    """What is missing in a finished run: races, line costs, machine code; `None` if nothing is."""
    folder = run.folder
    correct = [row for row in run.rows if row["status"] == "ok"]
    wanted = {
        "races": any(row["races_skipped"] in POSTPONED and not row["races_at"] for row in run.rows),
        "lines": any(_is_countable(folder, row) for row in correct) and not folder.has(folder.lines) and not run.search,
        "code": any(is_gpu(str(row["device"])) and folder.has(folder.cubin(str(row["binary"]))) for row in correct)
        and not any(folder.has(folder.machine_code(str(row["binary"]))) for row in correct),
    }
    words = tuple(word for word, is_missing in wanted.items() if is_missing)
    return Missing(listed([MEANINGS[word] for word in words]), command(run.path, *words)) if words else None
