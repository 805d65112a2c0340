"""The work of `runner check FOLDER`: each YAML is composed as a sweep would compose it, one after the other.

A kernel is planned with its defaults, an experiment with all of its cases, any other choice with the default kernel.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from runner import interruption
from runner.cli import FAILED, Options, printable
from runner.compose import app
from runner.compose.arguments import read
from runner.compose.group_files import FILES
from runner.compose.search_path import search_path
from runner.display.terminal import SweepProgress
from runner.display.text import count
from runner.errors import DeviceUnavailable, UsageError
from runner.kernel.yaml_reader import read_yaml
from runner.sweep.session import Session

GROUPS = (*(group for group in FILES if group != "experiment"), "experiment")  # an experiment uses the others


def check(folder: str) -> int:
    """Print one line for each mistake and a summary; returns the exit status: 1 if there is a mistake.

    Raises:
        UsageError: The folder does not exist, or it has no YAML in a folder that is read.
    """
    search_path(read(["--config-dir", folder]))
    files = [(group, path) for group in ("family", *GROUPS) for path in sorted((Path(folder) / group).glob("*.y*ml"))]
    if not files:
        expected = ", ".join(f"{group}/" for group in ("family", *GROUPS))
        raise UsageError(f"{folder}: it has no YAML in a folder named {expected}")
    wrong: dict[str, None] = {}
    with SweepProgress() as progress:
        progress.stage("reading", len(files))
        for group, path in files:
            interruption.check()
            progress.show_step(f"{group}/{path.name}")
            wrong |= dict.fromkeys(_mistakes(group, path, folder))
            progress.step()
    for mistake in wrong:
        sys.stdout.write(f"{printable(mistake)}\n")  # a stranger's text may control a terminal
    numbers = Counter(group for group, _ in files)
    read_files = ", ".join(count(number, group).replace("familys", "families") for group, number in numbers.items())
    sys.stdout.write(f"{folder}: {read_files}: {count(len(wrong), 'mistake') if wrong else 'no mistake'}\n")
    return FAILED if wrong else 0


def _mistakes(group: str, path: Path, folder: str) -> Iterator[str]:
    """The mistakes in a file, each with the file's name."""
    if path.suffix == ".yml":
        yield f"{group}/{path.name}: rename it to {path.stem}.yaml"
        return
    try:
        if group == "family":  # its kernels read the rest
            read_yaml(path)
            return
        session = Session(options=Options(dry_run=True, quiet=True))
        try:
            app.run(["--config-dir", folder, f"{group}={path.stem}"], session)
        finally:
            session.discard_if_unused()
        yield from session.left_out.values()
    except (UsageError, DeviceUnavailable) as e:
        yield str(e) if path.stem in str(e) else f"{group}/{path.name}: {e}"
