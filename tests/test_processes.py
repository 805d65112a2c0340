"""`python -m runner` as users start it; most other tests fork it from a process that has done its imports."""

import re

import pytest
from processes import fresh, run

SMALL = ("size=1000", "device=cpu", "timing.cpu_samples=3")


def really(directory, *arguments, **more):
    """Start a process of its own; give what it says."""
    process = fresh(directory, *arguments, **more)
    out, err = process.communicate()
    return process.returncode, out, err


def without_numbers(text):
    """Times differ from run to run, and so do the widths of their columns; what takes long is told in lines of its own."""
    text = re.sub(r"^(\w+ )?\d+/\d+\b.*\n", "", text, flags=re.MULTILINE)
    return re.sub(r" +", " ", re.sub(r"\s*\d[\d.,:-]*", " #", text))


@pytest.mark.parametrize(
    ("module", "arguments"),
    [("runner", SMALL), ("runner", ("no_such_key=1",)), ("runner", ("--help",)), ("runner.list", ("nowhere",))],
    ids=["a sweep", "a mistake", "help", "another command"],
)
def test_a_fork_does_what_a_fresh_process_does(module, arguments, tmp_path):
    """The same exit status, words and files."""
    here, there = tmp_path / "here", tmp_path / "there"
    left = []
    for folder, way in ((here, really), (there, run)):
        folder.mkdir()
        done = way(folder, *arguments, module=module)
        code, out, err = done if way is really else (done.code, done.out, done.err)
        words = without_numbers(out.replace(str(folder), "")), without_numbers(err.replace(str(folder), ""))
        left.append((code, *words, sorted(path.name for path in folder.glob("outputs/*/*/*"))))
    assert left[0] == left[1]
