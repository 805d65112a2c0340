"""docs/foreign.md does what it says, the counts of docs/other-kernels.md are the tables', and the YAMLs can be read."""

import re
import shutil
import sys

import pytest
import yaml
from mistakes import write_files
from processes import run
from support import ROOT, case_of, read_kernel

sys.path.append(str(ROOT / "benchmarks"))

import foreign

PAGE = (ROOT / "docs" / "foreign.md").read_text(encoding="utf-8")
RESULTS = (ROOT / "docs" / "other-kernels.md").read_text(encoding="utf-8")


def test_the_guide_leads_to_a_running_kernel(tmp_path):
    """By its own commands, and with what the import writes filled in as it says."""
    program, filled_in = re.findall(r"^```\w+\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE)
    importing, running = re.findall(r"^    python -m runner (.*)$", PAGE, re.MULTILINE)
    write_files(tmp_path, {"src/blur.cu": program})
    assert run(tmp_path, *importing.split()).code == 0
    path = tmp_path / "my_kernels" / "kernel" / "blur.yaml"
    found, wanted = yaml.safe_load(path.read_text()), yaml.safe_load(filled_in)
    assert found["arguments"] == wanted["arguments"]
    assert (found["source"], found["grid"]) == (wanted["source"], wanted["grid"])
    assert found["reference"] == {"out": "???"}
    path.write_text(filled_in)
    done = run(tmp_path, *running.split())
    assert done.code == 0, done.out + done.err
    assert (done.folder / "results.csv").read_text().count(",ok,") == 8
    for old, new, message in (("blur<", "blurr<", "has no __global__ function 'filters::blurr<"),
                              ("blur<dtype, block>", "blur", "is a template; add its template arguments to 'function'")):  # fmt: skip
        path.write_text(filled_in.replace(f"filters::{old}", f"filters::{new}"))
        assert message in run(tmp_path, *running.split(), "n=100", "block=64", "dtype=float32").out
        assert message in PAGE or "'blurr'" in PAGE


def test_the_counts_are_those_of_the_tables():
    """As many kernels of each repository as the tables have, and as many that are ok on each device."""
    devices = []
    for name in ("foreign.txt", "h200/foreign.txt"):
        tables = (ROOT / "docs" / name).read_text(encoding="utf-8").split("\n\n")
        heads = [re.match(r"(\S+) at (\w+),", head).groups() for head in tables[::2]]
        outcomes = [[re.split(r"  +", row)[2] for row in rows.splitlines()] for rows in tables[1::2]]
        devices.append(
            [(*head, str(len(each)), str(each.count("ok"))) for head, each in zip(heads, outcomes, strict=True)]
        )
    row = r"^\| [\w-]+/(\S+?),?(?: `dev/cuda`)? \((\w+)\) \| (\d+) \| (\d+) \| (\d+) \|"
    stated = re.findall(row, RESULTS, re.MULTILINE)
    sums = [sum(int(row[column]) for row in stated[2:]) for column in (2, 3, 4)]
    assert f"| together | {' | '.join(map(str, sums))} |" in RESULTS
    assert [row[:4] for row in stated] == devices[0]
    assert [(*row[:3], row[4]) for row in stated] == devices[1]


@pytest.mark.parametrize("collection", sorted(p.name for p in foreign.YAMLS.iterdir()))
def test_the_yamls_of_other_peoples_kernels_can_be_read(collection, tmp_path):
    """Each gives a case whose constraints hold; their sources need not be there for that, so empty ones take their place."""
    conf = shutil.copytree(foreign.YAMLS / collection, tmp_path / collection)
    for path in conf.rglob("*.yaml"):
        keys = yaml.safe_load(path.read_text())
        write_files(conf / "kernel", {keys["source"]: ""} if "source" in keys else {})
        include = keys.get("include", [])
        for folder in include if isinstance(include, list) else [include]:
            (conf / "kernel" / folder).mkdir(parents=True, exist_ok=True)
    kernels = [read_kernel(path) for path in sorted(conf.glob("kernel/*.yaml"))]
    assert len(kernels) >= 6
    assert [case.excluded for case in map(case_of, kernels) if case.excluded] == []
