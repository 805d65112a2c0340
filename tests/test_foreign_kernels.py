"""benchmarks/foreign.py, with a collection written here in place of other people's; and that their YAMLs can be read."""

import shutil
import sys

import pytest
import yaml
from mistakes import write_files
from support import ROOT, case_of, read_kernel

sys.path.append(str(ROOT / "benchmarks"))

import foreign


@pytest.mark.parametrize("collection", sorted(p.name for p in foreign.YAMLS.iterdir()))
def test_the_yamls_of_other_peoples_kernels_can_be_read(collection, tmp_path):
    """Each gives a case whose constraints hold; their sources need not be there for that, so empty ones take their place."""
    conf = shutil.copytree(foreign.YAMLS / collection, tmp_path / collection)
    for path in conf.rglob("*.yaml"):
        source = yaml.safe_load(path.read_text()).get("source")
        write_files(conf / "kernel", {source: ""} if source else {})
    kernels = [read_kernel(path) for path in sorted(conf.glob("kernel/*.yaml"))]
    assert len(kernels) >= 13
    assert [case.excluded for case in map(case_of, kernels) if case.excluded] == []
