"""The work of `runner compare`: read the runs, compare them, and write what the options ask for."""

from __future__ import annotations

import itertools
import os
from argparse import Namespace
from collections.abc import Sequence
from pathlib import Path

from runner.ci import targets
from runner.compare import causes, changes, ci_results, sides, terminal, views
from runner.display.terminal import Console, SweepProgress
from runner.files import named_file
from runner.record.folder import RunFolder
from runner.record.runs import reading


def compare(options: Namespace) -> int:
    """Compare runs, print the result, and write the page and the table. Returns the exit status."""

    def step(name: str) -> None:
        progress.show_step(name)
        progress.step()

    wanted = targets.parsed(options)
    files = [path for path in (options.html, options.csv, *wanted.files) if path]
    with reading(", ".join(options.runs)):
        with SweepProgress() as progress:
            named = sides.resolve(options.runs, options.baseline)
            _refuse_to_replace(files, named.paths)
            progress.stage("reading", len(named.paths))
            selected = sides.select(named, step)
            comparisons = []
            for other in selected.others:
                progress.stage("comparing", len(selected.base.rows))
                comparisons.append(changes.compare(selected.base, other, step))
            entries, differences = views.entries(comparisons), causes.causes(selected.base, comparisons)
            left_out = selected.sentences
            if options.csv:
                named_file.write(options.csv, views.as_csv(comparisons, entries))
            if options.html:
                progress.stage("drawing", 1)
                os.environ["MPLBACKEND"] = "agg"  # a notebook's own backend may not be installed
                from runner.compare import figure, page  # noqa: PLC0415 - slow, and a comparison may need no page

                content = page.page(comparisons, entries, differences, left_out, figure.draw(comparisons))
                named_file.write(options.html, content)
        terminal.show(comparisons, entries, differences, left_out, files, Console())
        targets.write(
            wanted,
            lambda: ci_results.results(
                comparisons, left_out, strict=options.strict, fail_on_counted=options.fail_on_counted
            ),
        )
        status = views.exit_status(comparisons, strict=options.strict, fail_on_counted=options.fail_on_counted)
        return views.UNDECIDED if options.strict and left_out and not status else status


def _refuse_to_replace(files: Sequence[Path], folders: Sequence[Path]) -> None:
    """Refuse to overwrite a run's files, or to write two results to the same file."""
    targets.refuse_same(files)
    for target, folder in itertools.product(files, folders):
        RunFolder(folder).refuse_to_replace(target)
