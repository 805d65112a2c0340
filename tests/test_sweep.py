"""The program as a user starts it, on the CPU device."""

import functools
import json
import platform
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from processes import call, table
from support import KERNELS, ROOT, Finished, shipped

OWN = Path(__file__).parent / "kernels"
SMALL = ("device=cpu", "size=1000")
MIXED = {
    "saxpy": "ok", "writesPart": "mismatch", "broken": "compile_error", "writesBeyond": "hazard", "speaks": "ok",
    "speaksPtx": "skipped", "scaled": "ok",
}  # fmt: skip


@pytest.fixture(scope="module")
def ran(tmp_path_factory):
    """Runs a command once for all tests of this module that look at what it left."""

    @functools.cache
    def run(*arguments, **environment):
        folder = tmp_path_factory.mktemp("run")
        done = call(folder, *arguments, **environment)
        return Finished(done.returncode, done.stdout, done.stderr, folder)

    return run


@pytest.fixture
def grid(ran):
    """A sweep of two kernels by two blocks, and a parameter that neither reads."""
    return ran("-m", "kernel=reduceShfl,reduceSmem", "block=128,256", "unroll=8", *SMALL)


@pytest.fixture
def single(ran):
    """One case, in a terminal that knows only ASCII, with a notebook's matplotlib backend."""
    odd = {"PYTHONIOENCODING": "ascii", "MPLBACKEND": "module://matplotlib_inline.backend_inline"}
    return ran(*SMALL, "record_host=true", **odd)


@pytest.fixture
def mixed(ran):
    """Kernels of the user's own: right ones, wrong ones, and one for GPUs only."""
    return ran("--config-dir", str(OWN), f"kernel={','.join(MIXED)}", "device=cpu")


def test_a_sweep_leaves_everything_in_its_folder(grid):
    """One command leaves a table, samples, figures, a report, the environment, the plan and the sources."""
    assert grid.code == 0, grid.err
    folder = grid.folder
    assert re.fullmatch(r"\d\d-\d\d-\d\d-reduceShfl\+reduceSmem", folder.name)
    for name in ("plan.json", "results.csv", "report.html", "environment.json", "multirun.yaml"):
        assert (folder / name).stat().st_size
    rows = table(folder)
    assert list(rows["status"]) == ["ok"] * 4
    assert list(zip(rows["kernel"], rows["block"], strict=True)) == [
        ("reduceShfl", "128"), ("reduceShfl", "256"), ("reduceSmem", "128"), ("reduceSmem", "256"),
    ]  # fmt: skip
    assert (rows["value"] == rows["reference"]).all()
    for case, job, median in zip(rows["case"], rows["job"], rows["emulated_us"], strict=True):
        samples = np.load(folder / "samples" / f"{case}-{job}.npy")
        assert len(samples) == 1
        assert np.median(samples["us"]) == pytest.approx(median)
        assert set(samples["round"]) == {1}
    for job in range(4):
        for name in (".hydra/config.yaml", ".hydra/overrides.yaml", ".hydra/hydra.yaml", "case.json", "result.json"):
            assert (folder / str(job) / name).is_file()
    assert {p.name for p in (folder / "sources" / "kernels").iterdir()} >= {"reduceShfl.cu", "reduceSmem.cu"}
    assert (folder / "sources" / "conf" / "config.yaml").is_file()


def test_the_terminal_lists_what_a_cuda_program_prints(grid):
    """The CPU's sum and, for each kernel, time, sum, grid and block; an override without effect, and where the report is."""
    assert re.search(r"cpu reduce.*cpu sum: *\d+", grid.out)
    assert re.search(r"reduceSmem.*sum: *\d+.*<<<grid 8 block 128>>>", grid.out)
    assert "report.html" in grid.out
    assert "unroll: " in grid.err


def test_the_environment_names_the_host_if_asked(single):
    """record_host=true adds the machine's name; an odd terminal or matplotlib backend changes nothing."""
    assert single.code == 0, single.err
    assert (single.folder / "report.html").is_file()
    assert "host" in json.loads((single.folder / "environment.json").read_text())


def test_a_failed_case_is_a_row_and_the_rest_goes_on(mixed):
    """Wrong answers, compile errors and hazards cost their own rows; the exit status is 1."""
    assert mixed.code == 1, mixed.err
    rows = table(mixed.folder).set_index("kernel")
    assert rows["status"].to_dict() == MIXED
    assert "writesBeyond.cu:6" in rows.loc["writesBeyond", "reason"]
    assert "broken.cu" in (mixed.folder / "2" / "compile.log").read_text()
    assert "thread 7 says hello" in mixed.err
    assert rows.loc["writesPart", "samples"] != rows.loc["writesPart", "samples"]  # no speed for a wrong kernel


def test_a_kernel_for_gpus_only_is_skipped_before_it_is_compiled(mixed):
    """The CPU device, which could not compile it, says why it is not run and which device runs it."""
    rows = table(mixed.folder).set_index("kernel")
    reason = rows.loc["speaksPtx", "reason"]
    assert "its lane is read by inline PTX" in reason
    assert "device=cuda" in reason
    assert not (mixed.folder / "5" / "compile.log").exists()
    assert rows["bytes_in_flight"].isna().all()  # how many blocks would fit is unknown


def test_files_name_no_path_and_no_host(mixed):
    """No file holds the directory or the machine's name, unless asked for."""
    for name in ("environment.json", "report.html", "results.csv", "plan.json"):
        text = (mixed.folder / name).read_text()
        assert str(mixed.directory) not in text
        assert str(ROOT) not in text
        assert not re.search(rf"\b{re.escape(platform.node())}\b", text)
    known = json.loads((mixed.folder / "environment.json").read_text())
    assert known["command"].startswith("python -m runner --config-dir .../kernels kernel=saxpy,")
    assert known["devices"]["cpu"]["kind"] == "cpu"


def test_jobs_that_are_one_case_are_run_once_on_each_device(runner):
    """size=1Ki and size=2**10 make one row per device, with samples of its own; the second job names the first."""
    done = runner("size=1Ki,2**10", "device=cpu", "device.threads=1,2")
    assert done.code == 0, done.err
    assert list(table(done.folder)["job"]) == [0, 1]
    assert len(list((done.folder / "samples").iterdir())) == 2
    assert json.loads((done.folder / "2" / "case.json").read_text())["same_as"] == 0


def test_a_glob_sweeps_all_kernels(runner):
    """kernel=glob(reduceS*) finds all of that name; widths and masks are for those that read them."""
    done = runner("kernel=glob(reduceS*)", "width=8", "mask=0x00ff00ff", *SMALL)
    rows = table(done.folder).set_index("kernel")
    assert set(rows.index) == {n for n in KERNELS if n.startswith("reduceS")}
    assert rows["status"].to_dict() == {n: "skipped" if shipped(n).gpu_only else "ok" for n in rows.index}
    assert rows["width"].count() == len([n for n in rows.index if shipped(n).parameter("width")]) >= 2
    assert rows.loc["reduceShfl", "mask"] == "0x00ff00ff"
    assert int(rows.loc["reduceShfl", "value"]) < int(rows.loc["reduceSmem", "value"])


def test_a_device_that_is_missing_costs_its_own_rows(runner):
    """In a sweep over two devices, the cases of one that is not there are not_run, with the reason."""
    done = runner("size=1000", "device=cpu,cuda", CUDA_VISIBLE_DEVICES="")
    assert done.code == 1
    rows = table(done.folder).set_index("device")
    assert rows["status"].to_dict() == {"cpu": "ok", "cuda": "not_run"}
    assert "device=cuda" in rows.loc["cuda", "reason"]


def test_only_skipped_cases_are_a_mistake(runner):
    """Where every case is skipped, the status is 2 and the reasons are told."""
    done = runner("width=3,5", "device=cpu")
    assert done.code == 2
    assert list(table(done.folder)["status"]) == ["skipped", "skipped"]
    assert "1, 2, 4, 8, 16 or 32" in done.out


def test_a_size_of_nothing_is_a_row_beside_the_others(runner):
    """It is skipped, and the report with its figures, whose axes are logarithmic, is made all the same."""
    done = runner("-m", "kernel=reduceShfl,reduceVector", "size=0,1,15", "block=64", "device=cpu")
    assert done.code == 0, done.err
    rows = pd.read_csv(done.folder / "results.csv")
    assert sorted(rows.loc[rows["status"] == "skipped", "size"]) == [0, 0]
    assert (done.folder / "report.html").is_file()


def test_the_commit_of_the_runner_is_recorded(grid):
    """In a checkout; an installed runner has none."""
    if not (ROOT / ".git").exists():
        pytest.skip("this is no checkout")
    known = json.loads((grid.folder / "environment.json").read_text())
    assert re.fullmatch("[0-9a-f]{40}", known["git"]["commit"])


def test_a_sweep_may_have_a_baseline_of_its_own(runner, tmp_path):
    """All other kernels are compared with it, whatever their YAMLs say, also when the sweep is repeated."""
    words = ["kernel=reduceShfl,reduceSmem", "size=2**12", "device=cpu", "timing=quick"]
    done = runner(*words, "baseline=reduceShfl", "hydra.sweep.dir=out")
    assert done.code == 0, done.err
    baselines = {"reduceSmem": "reduceShfl"}
    assert _baselines(tmp_path / "out") == baselines
    again = runner("out", module="runner.repeat")
    assert again.code == 0, again.err
    (repeated,) = tmp_path.glob("outputs/*/*")
    assert _baselines(repeated) == baselines


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (
            "reduceShlf",
            "baseline=reduceShlf: there is no such kernel; `runner show` lists all; did you mean reduceShfl?",
        ),
        ("reduceShfl,reduceGmem", "a sweep compares with one baseline; run a sweep for each"),
        ("reduceGmem", "baseline=reduceGmem: it is no kernel of this sweep, so none is compared with it"),
    ],
)
def test_a_baseline_that_compares_nothing_is_told(runner, value, words):
    """A misspelt one, two of them, or one that the sweep lacks."""
    done = runner("kernel=reduceSmem", "size=2**12", "device=cpu", f"baseline={value}", "--dry-run")
    assert words in " ".join((done.out + done.err).split())


def _baselines(folder):
    rows = pd.read_csv(folder / "results.csv")
    return rows.dropna(subset="baseline").set_index("kernel")["baseline"].to_dict()
