"""What several tests ask of a sweep's table, and of cases that were run."""

import csv

from support import case_of, read_kernel

from runner.errors import UsageError


def rows(folder):
    """The rows of results.csv, as text."""
    with (folder / "results.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def all_right(outcomes):
    """Every one is ok; says what the others are."""
    assert [(o.status, o.reason) for o in outcomes] == [("ok", "")] * len(outcomes)


def sentence_about(bench, path, text, old, new):
    """What is said of a kernel of whose YAML a piece is replaced: when it is read, when it is a case, or when it is run."""
    assert old in text
    path.parent.mkdir(exist_ok=True)
    path.write_text(text.replace(old, new, 1))
    try:
        case = case_of(read_kernel(path))
        told = case.excluded or bench.run(case, samples=1).reason
    except UsageError as e:
        told = str(e)
    assert "\n" not in told
    return told
