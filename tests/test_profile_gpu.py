"""`profile` on a real GPU: ncu and compute-sanitizer around launches of our own."""

import json
import shutil

import pandas as pd
import pytest
from support import ROOT

from runner.record.folder import RunFolder

pytestmark = pytest.mark.gpu

OWN = ("--config-dir", str(ROOT / "tests" / "kernels" / "profiled"))
LINES = {"outside": 4, "race": 10, "unwritten": 14, "barrier": 21}  # of broken.cu


def swept(runner, folder, *arguments):
    """The rows of a sweep, by kernel, and its folder."""
    done = runner("-m", "device=cuda", "timing=quick", f"hydra.sweep.dir={folder}", *arguments)
    frame = pd.read_csv(folder / "results.csv").set_index("kernel")
    return frame, RunFolder(folder), done


@pytest.fixture
def tool():
    """Skips where a tool is missing."""

    def require(name):
        if shutil.which(name) is None:
            pytest.skip(f"{name} is not installed")

    return require


def test_counters_are_those_of_the_launches(runner, tool, tmp_path):
    """DRAM bytes, sectors and wavefronts of known kernels; sums over the launches of a case; times stay."""
    tool("ncu")
    frame, folder, done = swept(
        runner, tmp_path / "out", *OWN, "kernel=twice,transposeGmem,transposeSmem",
        "profile=roofline", "profile.metrics=[default,smsp__inst_executed.sum,no__such_metric.sum]",
    )  # fmt: skip
    assert done.code == 0, done.err
    assert "no__such_metric.sum" in done.err
    assert "no ceilings" not in done.err, done.err
    assert (frame["median_us"] > 0).all()
    read = frame["ncu_dram_read"]
    assert 0.95 * 2**22 < read["twice"] < 2.2 * 2**22  # of the second launch, the input may still be in L2
    assert frame["ncu_smsp__inst_executed.sum"]["twice"] > 2 * 2**20 / 32
    assert frame["ncu_store_wavefronts"]["transposeSmem"] + frame["ncu_load_wavefronts"]["transposeSmem"] > 16
    assert frame["ncu_store_sectors"]["transposeGmem"] + frame["ncu_load_sectors"]["transposeGmem"] > 16
    record = json.loads((folder.profile(int(frame["job"]["twice"]))).read_text())
    assert [launch["kernel"] for launch in record["ncu"]["launches"]] == ["twice", "again"]
    ceilings = record["roofline"]["ceilings"]
    for precision, theory in ceilings["gflops"]["theoretical"].items():
        assert 0.5 * theory < ceilings["gflops"]["measured"][precision] < 1.05 * theory, precision
    assert (folder.path / "figures" / "stalls.svg").exists()
    again = runner(str(folder.path), module="runner.resume")
    assert "complete" in again.err


def test_what_the_sanitizer_finds_is_a_hazard_with_line_and_thread(runner, tool, tmp_path):
    """One mistake of each kind; the right kernel stays ok; the report shows the line."""
    tool("compute-sanitizer")
    kernels = f"kernel={','.join((*LINES, 'fine'))}"
    frame, folder, done = swept(runner, tmp_path / "out", *OWN, kernels, "profile=sanitizer", "device.time_limit_s=10")
    assert done.code == 1, done.err
    assert frame["status"].to_dict() == {**dict.fromkeys(LINES, "hazard"), "fine": "ok"}
    for name, line in LINES.items():
        assert f"broken.cu:{line}" in frame["reason"][name], frame["reason"][name]
        found = json.loads(folder.hazards(int(frame["job"][name])).read_text())
        assert found[0]["line"].startswith("broken.cu:")
    assert "thread" in frame["reason"]["outside"]
    assert "line-outside-broken-cu-4" in (folder.path / "report.html").read_text()
