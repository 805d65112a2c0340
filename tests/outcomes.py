"""What several tests ask of a sweep's table, and of cases that were run."""

import csv
import shutil

from support import case_of, read_kernel

from runner.errors import UsageError


def rows(folder):
    """The rows of results.csv, as text."""
    with (folder / "results.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def all_right(outcomes):
    """Every one is ok; says what the others are."""
    assert [(o.status, o.reason) for o in outcomes] == [("ok", "")] * len(outcomes)


def altered(path, folder, *pieces):
    """The path of a kernel's YAML, copied with all that lies beside it into a folder, in which pieces are replaced."""
    copy = shutil.copytree(path.parent, folder, dirs_exist_ok=True) / path.name
    text = copy.read_text()
    for old, new in pieces:
        assert old in text
        text = text.replace(old, new, 1)
    copy.write_text(text)
    return copy


def refusal(bench, path):
    """The sentence with which a kernel is refused: when its YAML is read, when it is a case, or when it is run."""
    try:
        case = case_of(read_kernel(path))
        sentence = case.excluded or bench.run(case, samples=1).reason
    except UsageError as e:
        sentence = str(e)
    assert "\n" not in sentence
    return sentence
