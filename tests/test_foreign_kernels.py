"""benchmarks/foreign.py, with a collection written here in place of other people's; and that their YAMLs can be read."""

import shutil
import sys

import pytest
import yaml
from support import ROOT, case_of, read_kernel
from told import lay

sys.path.append(str(ROOT / "benchmarks"))

import foreign

SOURCE = """\
#include <cublas_v2.h>
__global__ void right(int* out, int n) { int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) out[i] = i; }
__global__ void wrong(int* out, int n) { int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) out[i] = 7; }
#ifdef OTHERWISE
__global__ void hidden(int* out, int n) {}
#endif
"""
FAMILY = """\
source: ../clone/src/all.cu
parameters: {block: 64, n: 100}
arguments:
  - {name: out, role: out, dtype: int32, shape: n}
  - {name: n, scalar: int32, value: n}
grid: ceil_div(n, block)
reference: {out: arange(n)}
"""


def test_a_table_has_each_kernel_with_its_outcome_and_its_reason(tmp_path, monkeypatch):
    """The message without the elements, then what the YAML's summary says. A folder without YAMLs is told."""
    lay(tmp_path, {"clones/mini/src/all.cu": SOURCE, "yamls/mini/family/all.yaml": FAMILY})
    for name in ("right", "wrong", "hidden"):
        lay(tmp_path, {f"yamls/mini/kernel/{name}.yaml": f"family: all\nsummary: about {name}\n"})
    monkeypatch.setattr(foreign, "YAMLS", tmp_path / "yamls")
    out = tmp_path / "table.txt"
    monkeypatch.setattr(sys, "argv", ["foreign.py", str(tmp_path / "clones" / "mini"), "--out", str(out)])
    foreign.main()
    head, counts, _, *rows = out.read_text().splitlines()
    assert head.startswith("mini at an unknown commit, CPU device")
    assert sorted(counts.split(", ")) == ["1 compile_error", "1 mismatch", "1 ok"]
    assert [" ".join(row.split()) for row in rows] == [
        "src/all.cu hidden compile_error all.cu: an #if leaves the function 'hidden' out; about hidden",
        "src/all.cu right ok",
        "src/all.cu wrong mismatch 99 of 100 elements differ; about wrong",
    ]
    monkeypatch.setattr(sys, "argv", ["foreign.py", str(tmp_path)])
    with pytest.raises(SystemExit):
        foreign.main()


@pytest.mark.parametrize("collection", sorted(p.name for p in foreign.YAMLS.iterdir()))
def test_the_yamls_of_other_peoples_kernels_can_be_read(collection, tmp_path):
    """Each gives a case whose constraints hold; their sources need not be there for that, so empty ones take their place."""
    conf = shutil.copytree(foreign.YAMLS / collection, tmp_path / collection)
    for path in conf.rglob("*.yaml"):
        source = yaml.safe_load(path.read_text()).get("source")
        lay(conf / "kernel", {source: ""} if source else {})
    kernels = [read_kernel(path) for path in sorted(conf.glob("kernel/*.yaml"))]
    assert len(kernels) >= 13
    assert [case.excluded for case in map(case_of, kernels) if case.excluded] == []
