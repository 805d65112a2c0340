"""What several tests ask of a sweep's table, and of cases that were run."""

import csv


def rows(folder):
    """The rows of results.csv, as text."""
    with (folder / "results.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def all_right(outcomes):
    """Every one is ok; says what the others are."""
    assert [(o.status, o.reason) for o in outcomes] == [("ok", "")] * len(outcomes)
