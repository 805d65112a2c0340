"""The benchmarks against libraries, as far as they need no GPU: what is built, what is chosen, what is told."""

from __future__ import annotations

import itertools
import re
import subprocess
import sys
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from support import ROOT

sys.path.append(str(ROOT / "benchmarks"))

import our_kernels
import reduction
import side_by_side
import stencil
import tables
import transpose
from side_by_side import Contender, Taken

NATIVE = sorted(p.name for p in (ROOT / "benchmarks" / "native").glob("*.cu"))


@pytest.mark.nvcc
@pytest.mark.parametrize("name", NATIVE)
def test_what_is_built_natively_compiles_without_a_warning(name, tmp_path):
    """Each source becomes a shared library, by the options with which the benchmarks build it."""
    options = ["-shared", "-Xcompiler", "-fPIC", "-O3", "-std=c++17", "-arch=sm_90", "-Werror", "all-warnings"]
    source = ROOT / "benchmarks" / "native" / name
    command = ["nvcc", *options, "-o", str(tmp_path / "built.so"), str(source)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.nvcc
def test_the_kernel_that_only_reads_does_read(tmp_path):
    """Each thread makes as many loads of 16 bytes as are asked for, and a store needs them: none can be left out."""
    source, out = ROOT / "benchmarks" / "kernels" / "readOnly.cu", tmp_path / "read.ptx"
    command = ["nvcc", "-ptx", "-arch=sm_90", "-DBLOCK=512", "-DVECTORS=8", "-o", str(out), str(source)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert len(re.findall(r"ld\.global\S*\.v4", out.read_text())) == 8
    assert len(re.findall(r"st\.global\S*\.v4", out.read_text())) == 1


RESULTS = """kernel,size,dtype,block,unroll,stream,blocks,status,finish,median_us
reducePacked,65536,int32,256,4,1,528,ok,device,9.5
reducePacked,65536,int32,512,4,1,528,ok,device,10.5
reducePacked,65536,int32,512,8,1,528,mismatch,device,
reducePacked,65536,int32,128,4,0,528,ok,host,1.5
reducePacked,262144,int32,512,4,0,1056,ok,device,11.0
reducePacked,262144,int32,256,4,0,1056,ok,device,100.0
"""


def test_the_winner_is_the_quickest_that_is_right_and_finishes_on_the_device(tmp_path):
    """Of a sweep's results.csv, for each size; times are compared as numbers."""
    (tmp_path / "results.csv").write_text(RESULTS)
    chosen = our_kernels.winners(our_kernels.read_choices(tmp_path / "results.csv"), reduction.BY, reduction.NAMES)
    assert chosen.to_dict("records") == [
        {"dtype": "int32", "size": "65536", "kernel": "reducePacked", "block": "256", "unroll": "4", "stream": "1",
         "blocks": "528", "median_us": "9.5"},
        {"dtype": "int32", "size": "262144", "kernel": "reducePacked", "block": "512", "unroll": "4", "stream": "0",
         "blocks": "1056", "median_us": "11.0"},
    ]  # fmt: skip


def test_what_was_chosen_is_read_back_as_the_same_case(tmp_path):
    """Also of a kernel that does not read all of the parameters that others are chosen by."""
    lines, cases = [], []
    for kernel in stencil.KERNELS:
        fixed = {"dtype": "float64", "size": 2**14}
        cases.append(our_kernels.candidates((kernel,), stencil.SPACE, **fixed)[-1])
        lines.append(our_kernels.told(cases[-1], stencil.SPACE, 1.0, dtype="float64", size=str(2**14)))
    tables.keep(pd.DataFrame(lines), tmp_path, "chosen")
    choices = our_kernels.read_choices(tmp_path / "chosen.csv")
    for case in cases:
        keys = {"dtype": "float64", "size": str(2**14), "kernel": case.kernel.name}
        assert our_kernels.choice(choices, stencil.SPACE, fixed, **keys).id == case.id


def test_every_kernel_of_the_benchmarks_has_candidates():
    """The kernels exist, and read the parameters by which they are chosen."""
    words = dict(text.split("=") for text in reduction.SPACE)
    space = {name: words[name].split(",") for name in reduction.NAMES}
    for dtype, kernel in reduction.KERNELS.items():
        cases = our_kernels.candidates((kernel,), space, dtype=dtype, size=2**30)
        assert len(cases) == len(list(itertools.product(*space.values())))
    for kernel in stencil.KERNELS:
        assert len(our_kernels.candidates((kernel,), stencil.SPACE, size=2**20)) >= 3
    for kernel in transpose.KERNELS:
        assert len(our_kernels.candidates((kernel,), transpose.SPACE, size="4096x4096")) >= 6
    odd = our_kernels.candidates(transpose.KERNELS, transpose.SPACE, size="4097x4095")
    assert {"transposeShifted"} <= {c.kernel.name for c in odd} <= set(transpose.KERNELS) - {"transposeVector"}


def test_who_fails_has_the_reason_in_its_row_and_the_others_go_on(monkeypatch):
    """Whether it cannot be made, is wrong, fails at once, or fails later: it has no part in what follows."""
    turns = []

    def sampled(device, queue, count):
        turns.append(queue)
        if queue is later:
            raise ValueError("later")
        return np.full(count, 2.0), np.full(count, 1.0)

    def later():
        """Works when it is checked."""

    def at_once():
        raise RuntimeError("at once")

    def missing():
        raise ImportError("no such library")

    good = Contender("good", queue=lambda: None)
    bad = [Contender("wrong", check=lambda: "7 is not the sum"), Contender("at once", queue=at_once)]
    contenders = [side_by_side.tried("missing", missing), *bad, Contender("later", queue=later), good]
    monkeypatch.setattr(side_by_side, "sampled", sampled)
    device = SimpleNamespace(stream=SimpleNamespace(synchronize=lambda: None))
    taken = side_by_side.alternate(contenders, device, rounds=3, samples=4)
    reasons = ["ImportError: no such library", "7 is not the sum", "RuntimeError: at once", "ValueError: later", ""]
    assert [t.error for t in taken] == reasons
    assert [len(t.us) for t in taken] == [0, 0, 0, 0, 12]
    assert sorted(q is good.queue for q in turns) == [False, True, True, True]


def _rows():
    """One size in which 1000 bytes a microsecond are read, beside an empty kernel of 2 us; a peer failed."""
    times = {"ours": 12.5, "CUB": 25.0, "CuPy": 50.0, "torch": None, "read only": 12.0, "empty kernel": 2.0}
    for name, us in times.items():
        taken = Taken(np.empty(0), np.empty(0), "it broke") if us is None else Taken(np.full(9, us), np.ones(9))
        read = 0 if name == "empty kernel" else 10_000
        yield {**tables.row(Contender(name), taken, dtype="int32", size=2**16), "bytes": read}
        yield {**tables.row(Contender(name), taken, dtype="int32", size=2**14), "bytes": read // 4}


def test_the_limit_of_a_sum_is_an_empty_kernel_and_the_bytes_at_the_best_bandwidth():
    """In percent of a contender's time; the bandwidth is that of merely reading at the largest size."""
    frame = reduction.told(pd.DataFrame(_rows()), 2.0).set_index(["size", "contender"])
    assert frame["read_gbps"].unique() == pytest.approx([1.0])
    assert frame.loc[(2**16, "ours"), "limit_percent"] == pytest.approx(100 * 12.0 / 12.5)
    assert frame.loc[(2**14, "ours"), "limit_percent"] == pytest.approx(100 * 4.5 / 12.5)
    assert frame.loc[(2**16, "CUB"), "ratio_to_ours"] == pytest.approx(2.0)
    assert frame.loc[(2**16, "CUB"), ["gbps", "percent_peak"]].tolist() == pytest.approx([0.4, 20.0])
    assert np.isnan(frame.loc[(2**16, "torch"), "median_us"])


def test_the_page_has_a_line_a_size_and_a_dash_for_who_failed():
    """Times, then each peer's over ours."""
    page = reduction.page(reduction.told(pd.DataFrame(_rows()), 2.0)).splitlines()
    assert len(page) == 4
    assert page[2].split()[:9] == ["int32", "2^16", "12.50", "25.00", "50.00", "-", "2.000", "4.000", "-"]


def test_a_missing_package_is_one_sentence_and_status_2(monkeypatch, capsys):
    """Which one, and what is needed in all."""
    monkeypatch.setattr(side_by_side.importlib.util, "find_spec", lambda name: None if name == "cupy" else name)
    with pytest.raises(SystemExit) as ended, side_by_side.gpu():
        pass
    assert ended.value.code == 2
    assert capsys.readouterr().err.splitlines() == [
        "CuPy not installed: this benchmark needs PyCUDA, PyTorch, CuPy and nvcc"
    ]


@pytest.mark.parametrize("name", ["reduction", "transpose", "stencil"])
def test_a_file_of_choices_that_is_not_there_is_one_sentence(name, tmp_path):
    """The benchmarks start, and say how the file comes about."""
    command = [sys.executable, str(ROOT / "benchmarks" / f"{name}.py"), "--chosen", str(tmp_path / "none.csv")]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env={"PYTHONPATH": str(ROOT)})
    assert done.returncode == 2
    assert "there is no such file; --choose finds the configurations" in done.stderr
    assert len(done.stderr.splitlines()) == 1
