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

import copies
import our_kernels
import reduction
import side_by_side
import stencil
import sums
import sweeps
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
@pytest.mark.parametrize(("stream", "load"), [(0, r"ld\.global(\.nc)?\.v4"), (1, r"ld\.global\.cs\.v4")])
def test_the_kernel_that_only_reads_does_read(stream, load, tmp_path):
    """Each thread makes as many loads of 16 bytes as are asked for, and a store needs them: none can be left out."""
    source, out = ROOT / "benchmarks" / "kernels" / "readOnly.cu", tmp_path / "read.ptx"
    command = ["nvcc", "-ptx", "-arch=sm_90", "-DBLOCK=512", "-DVECTORS=8", f"-DSTREAM={stream}"]
    done = subprocess.run([*command, "-o", str(out), str(source)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert len(re.findall(load, out.read_text())) == len(re.findall(r"ld\.global\S*\.v4", out.read_text())) == 8
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
    results = our_kernels.read_choices(tmp_path / "results.csv", reduction.BY, reduction.KERNELS.values())
    chosen = our_kernels.winners(results, reduction.BY, reduction.NAMES)
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
    choices = our_kernels.read_choices(tmp_path / "chosen.csv", (*stencil.BY, *stencil.SPACE), stencil.KERNELS)
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

    def sampled(device, queue, count, flush):
        turns.append(queue)
        if queue is later and turns.count(later) == 2:
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
    taken = side_by_side.alternate(contenders, IDLE, rounds=3, samples=4)
    reasons = ["ImportError: no such library", "7 is not the sum", "RuntimeError: at once", "ValueError: later", ""]
    assert [t.error for t in taken] == reasons
    assert [len(t.us) for t in taken] == [0, 0, 0, 0, 12]
    assert (turns.count(good.queue), turns.count(later), len(turns)) == (3, 2, 5)


class FakeTensor:
    """One number, which can be spoilt as a tensor of PyTorch can."""

    def __init__(self):
        self.held = np.zeros(1, np.int32)

    def view(self, kind):
        """Its bytes, of which `fill_` changes each."""
        self.bytes = self.held.view(kind)
        return self

    def fill_(self, value):
        """Of the bytes."""
        self.bytes.fill(value)


IDLE = SimpleNamespace(stream=SimpleNamespace(synchronize=lambda: None))


def test_what_an_earlier_launch_left_is_spoilt_before_the_work_is_checked(monkeypatch):
    """Who does nothing is wrong, though the right result lay there; who does it is right."""
    monkeypatch.setitem(sys.modules, "torch", SimpleNamespace(uint8=np.uint8))
    output = FakeTensor()

    def check():
        return "" if output.held[0] == 7 else f"{output.held[0]} is not 7"

    def work():
        output.held[0] = 7

    work()
    assert side_by_side._wrong(Contender("idle", check=check, output=output), IDLE) == "-1 is not 7"
    assert side_by_side._wrong(Contender("good", queue=work, check=check, output=output), IDLE) == ""


def test_who_is_wrong_after_the_last_round_has_no_time(monkeypatch):
    """Such as one that leaves something behind that spoils a later launch; the others keep theirs."""
    results = iter(["", "7 is not the sum"])
    monkeypatch.setattr(side_by_side, "sampled", lambda *_: (np.ones(3), np.ones(3)))
    spoilt, good = Contender("spoilt", check=lambda: next(results)), Contender("good")
    taken = side_by_side.alternate([spoilt, good], IDLE, rounds=2, samples=3)
    assert [t.error for t in taken] == ["after the last round: 7 is not the sum", ""]
    assert [(len(t.us), len(t.enqueue_us)) for t in taken] == [(0, 0), (6, 6)]
    assert np.isnan(tables.row(spoilt, taken[0])["median_us"])


def test_the_clean_flush_writes_and_then_reads_the_whole_tiles_of_its_memory(monkeypatch):
    """In this order, and it is what `alternate` has queued before each sample."""
    torch = SimpleNamespace(uint8=np.uint8, zeros=lambda *_, **__: SimpleNamespace(data_ptr=lambda: 64))
    monkeypatch.setitem(sys.modules, "torch", torch)
    done, launches, flushes = [], [], []

    def queued(launch):
        launches.append(launch)
        return lambda: done.append("read")

    def sampled(device, queue, count, flush):
        flushes.append(flush)
        return np.ones(count), np.ones(count)

    device = SimpleNamespace(
        _flush_memory=4096, _flush_words=3 * sums.READ_TILE // 4 + 5, _flush=lambda: done.append("written"),
        load=lambda source, _: source, queued=queued, stream=IDLE.stream,
    )  # fmt: skip
    flush = sums.clean_flush(device, SimpleNamespace(compile=lambda _: None))
    flush()
    assert done == ["written", "read"]
    assert (launches[0].grid, launches[0].arguments[0].pointer) == ((3, 1, 1), 4096)
    assert ("STREAM", "0") in launches[0].program.macros
    monkeypatch.setattr(side_by_side, "sampled", sampled)
    side_by_side.alternate([Contender("good")], device, 2, 3, flush)
    assert flushes == [flush, flush]


def test_a_page_says_which_flush_was_used():
    """The plain one leaves changed lines in L2, the other unchanged ones."""
    details = {"empty_kernel_us": 2.0, "event_pair_us": 1.0, "flush_us": 50.0}
    device = SimpleNamespace(info=SimpleNamespace(name="GPU", peak_gbps=1.0, versions={}, details=details))
    plain, clean = tables.head(device, 1, 1), tables.head(device, 1, 1, clean=True)
    assert "unchanged lines" not in plain
    assert "unchanged lines" in clean


def _rows(reads=(12.0, 14.5), dtype="int32"):
    """One size in which 1000 bytes a microsecond are read, beside an empty kernel of 2 us; a peer failed."""
    times = {"ours": 12.5, "CUB": 25.0, "CuPy": 50.0, "torch": None, "read only": reads[0]}
    times |= {"read only, streaming": reads[1], "empty kernel": 2.0}
    for name, us in times.items():
        taken = Taken(np.empty(0), np.empty(0), "it broke") if us is None else Taken(np.full(9, us), np.ones(9))
        read = 0 if name == "empty kernel" else 10_000
        yield {**tables.row(Contender(name), taken, dtype=dtype, size=2**16), "bytes": read}
        yield {**tables.row(Contender(name), taken, dtype=dtype, size=2**14), "bytes": read // 4}


@pytest.mark.parametrize("reads", [(12.0, 14.5), (14.5, 12.0), (None, 12.0)])
def test_the_limit_of_a_sum_is_an_empty_kernel_and_the_bytes_at_the_best_bandwidth(reads):
    """In percent of a contender's time; the bandwidth is the better one of merely reading at the largest size."""
    frame = reduction.told(pd.DataFrame(_rows(reads)), 2.0).set_index(["size", "contender"])
    assert frame["read_gbps"].unique() == pytest.approx([1.0])
    assert frame.loc[(2**16, "ours"), "limit_percent"] == pytest.approx(100 * 12.0 / 12.5)
    assert frame.loc[(2**14, "ours"), "limit_percent"] == pytest.approx(100 * 4.5 / 12.5)
    assert frame.loc[(2**16, "CUB"), "ratio_to_ours"] == pytest.approx(2.0)
    assert frame.loc[(2**16, "CUB"), ["gbps", "percent_peak"]].tolist() == pytest.approx([0.4, 20.0])
    assert np.isnan(frame.loc[(2**16, "torch"), "median_us"])


def test_one_bandwidth_counts_for_both_dtypes():
    """The best of all: the limits of two dtypes that took as long are the same."""
    rows = [*_rows((22.0, 22.0)), *_rows((13.0, 12.0), "float32")]
    frame = reduction.told(pd.DataFrame(rows), 2.0).set_index("contender")
    assert frame["read_gbps"].unique() == pytest.approx([1.0])
    of_ours = frame[frame["size"] == 2**16].loc["ours"]
    assert of_ours["limit_percent"].tolist() == pytest.approx([96.0, 96.0])


def test_a_copy_is_held_against_the_quicker_of_the_two():
    """In each task on its own, and in percent of the time; the bandwidth is of what was moved."""
    times = {1: {copies.OUR_COPY: 8.0, copies.DRIVER_COPY: 10.0, "x": 16.0},
             2: {copies.OUR_COPY: 40.0, copies.DRIVER_COPY: 20.0, "x": 25.0}}  # fmt: skip
    rows = [
        {"shape": s, "contender": c, "median_us": us, "bytes": 16_000}
        for s, of in times.items()
        for c, us in of.items()
    ]
    frame = copies.against_copy(pd.DataFrame(rows), ("shape",), 4.0).set_index(["shape", "contender"])
    assert frame["percent_copy"].tolist() == pytest.approx([100, 80, 50, 50, 100, 80])
    assert frame.loc[(1, "x"), ["gbps", "percent_peak"]].tolist() == pytest.approx([1.0, 25.0])


def test_the_page_has_a_line_a_size_and_a_dash_for_who_failed():
    """Times, then each peer's over ours."""
    page = reduction.page(reduction.told(pd.DataFrame(_rows()), 2.0)).splitlines()
    assert len(page) == 4
    assert page[2].split()[:9] == ["int32", "2^16", "12.50", "25.00", "50.00", "-", "2.000", "4.000", "-"]
    swapped = reduction.page(reduction.told(pd.DataFrame(_rows((14.5, 12.0))), 2.0)).splitlines()
    assert swapped == page  # of the two that merely read, the quicker one is shown


def test_a_missing_package_is_one_sentence_and_status_2(monkeypatch, capsys):
    """Which one, and what is needed in all."""
    monkeypatch.setattr(side_by_side.importlib.util, "find_spec", lambda name: None if name == "cupy" else name)
    with pytest.raises(SystemExit) as ended, side_by_side.gpu():
        pass
    assert ended.value.code == 2
    assert capsys.readouterr().err.splitlines() == [
        "CuPy not installed: this benchmark needs PyCUDA, PyTorch, CuPy and nvcc"
    ]


def test_what_is_missing_is_told_before_the_sweeps_that_choose(monkeypatch, capsys):
    """No sweep begins where the measurement could not follow."""
    monkeypatch.setattr(side_by_side.importlib.util, "find_spec", lambda name: None if name == "torch" else name)
    monkeypatch.setattr(reduction, "swept_results", lambda *_: pytest.fail("a sweep began"))
    monkeypatch.setattr(sys, "argv", ["reduction.py", "--choose"])
    with pytest.raises(SystemExit):
        reduction.main()
    assert capsys.readouterr().err.startswith("PyTorch not installed")


def test_a_sweep_that_fails_is_told_by_its_own_last_line(capsys):
    """In one sentence with status 2."""
    with pytest.raises(SystemExit) as ended:
        our_kernels.swept_results("kernel=reduceNone", "size=64")
    assert ended.value.code == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert "ended with 2: runner: kernel=reduceNone" in line


def test_the_last_line_that_means_something_is_the_reason():
    """Neither an empty line nor Hydra's hint is one."""
    hint = "Set the environment variable HYDRA_FULL_ERROR=1 for a trace."
    assert sweeps.reason(f"Traceback\nValueError: no\n\n{hint}\n \n") == "ValueError: no"
    assert sweeps.reason("\n") == "it did not say why"


@pytest.fixture
def complaint(monkeypatch, capsys):
    """Calls what a benchmark says on ending at once, which is to be one line."""

    def call(benchmark, *arguments):
        monkeypatch.setattr(sys, "argv", [f"{benchmark.NAME}.py", *arguments])
        with pytest.raises(SystemExit) as ended:
            benchmark.main()
        said = capsys.readouterr()
        assert (ended.value.code, said.out) == (2, "")
        (line,) = said.err.splitlines()
        return line

    return call


EXPONENT, COUNT, SHAPE = "a whole number from 14 to 30", "a whole number from 1 to 10000", "ROWSxCOLUMNS"
OPTIONS = [
    *((reduction, "--sizes", text, EXPONENT) for text in ("x", "", "31")),
    (reduction, "--dtypes", "foo", "int32 or float32"),
    (reduction, "--rounds", "0", COUNT),
    (reduction, "--samples", "-1", COUNT),
    (reduction, "--out", str(ROOT / "README.md"), "a folder"),
    *((transpose, "--shapes", text, SHAPE) for text in ("5", "axb", "3x4x5", "0x5", "5x0", "", "99999x99999")),
    (stencil, "--dtypes", "int32", "float32 or float64"),
]


def test_an_option_that_cannot_be_is_one_sentence(complaint):
    """The option, the value, what is allowed; before anything is looked for or begun."""
    for benchmark, option, value, allowed in OPTIONS:
        assert complaint(benchmark, "--choose", option, value).startswith(f"{option} {value!r}: {allowed}")


def test_what_an_option_lists_counts_once():
    """Twice the same task would be two lines for one."""
    parser = tables.options("", "x")
    parser.add_argument("--sizes", type=tables.several(tables.number(tables.EXPONENTS)))
    parser.add_argument("--shapes", type=tables.several(tables.shape))
    given = parser.parse_args(["--sizes", "20,16, 20", "--shapes", "5x6,05x06"])
    assert (given.sizes, given.shapes) == ([20, 16], ["5x6"])


COLUMNS = "dtype,size,kernel,block,unroll,stream,blocks\n"
NO_TABLE = "cannot be read as a table"
FILES = {
    "empty": (b"", NO_TABLE),
    "binary": (b"\x93\x00\xff\n\x00" * 99, NO_TABLE),
    "prose": ((ROOT / "README.md").read_bytes(), NO_TABLE),
    "columns": (b"dtype,size,kernel,block,stream\n", "no column unroll, blocks"),
    "kernel": (
        f"{COLUMNS}int32,65536,../reduceNone,256,4,0,2048\n".encode(),
        "'../reduceNone' is none of reducePacked",
    ),
    "value": (
        f"{COLUMNS}int32,65536,reducePacked,x,4,0,2048\n".encode(),
        "for dtype=int32, size=65536 cannot be: block=x",
    ),
    "no line": (COLUMNS.encode(), "0 configurations are chosen for dtype=int32, size=65536"),
}


def test_a_file_that_does_not_hold_the_choices_is_one_sentence(complaint, tmp_path):
    """Before the GPU is opened; also a file that is missing, a folder, and a kernel of another benchmark."""
    only = ("--sizes", "16", "--dtypes", "int32", "--chosen")
    for name, (content, told) in FILES.items():
        (tmp_path / "chosen.csv").write_bytes(content)
        assert told in complaint(reduction, *only, str(tmp_path / "chosen.csv")), name
    assert NO_TABLE in complaint(reduction, *only, str(tmp_path))
    for benchmark in (reduction, transpose, stencil):
        line = complaint(benchmark, "--chosen", str(tmp_path / "none.csv"))
        assert "there is no such file; --choose finds the configurations" in line
    for benchmark in (transpose, stencil):
        header = ",".join((*benchmark.BY, "kernel", *benchmark.SPACE))
        (tmp_path / "chosen.csv").write_text(f"{header}\n{re.sub(r'[^,]+', 'reduceSmem', header)}\n")
        assert "kernel 'reduceSmem' is none of" in complaint(benchmark, "--chosen", str(tmp_path / "chosen.csv"))


def test_what_was_chosen_before_is_there():
    """The benchmarks run without --choose: each configuration that they need is kept, and is a case today."""
    choices = our_kernels.read_choices(
        tables.KEPT / "reduction.csv", (*reduction.BY, *reduction.NAMES), reduction.KERNELS.values()
    )
    for dtype, exponent in itertools.product(reduction.KERNELS, range(16, 32, 2)):
        assert reduction.of_choice(choices, dtype, exponent).kernel.name == reduction.KERNELS[dtype]
    choices = our_kernels.read_choices(tables.KEPT / "stencil.csv", (*stencil.BY, *stencil.SPACE), stencil.KERNELS)
    assert len(stencil.of_choices(choices, "float32", 24)) == len(stencil.KERNELS)
    choices = our_kernels.read_choices(
        tables.KEPT / "transpose.csv", (*transpose.BY, *transpose.SPACE), transpose.KERNELS
    )
    for shape in transpose.SHAPES.split(","):
        assert our_kernels.choice(choices, transpose.SPACE, transpose.fixed(shape), shape=shape)


def test_a_sample_is_one_launch_behind_a_flush(monkeypatch):
    """Flush, event, launch, event, wait, in this order each time; the first ones do not count."""
    done = []

    class Event:
        def record(self, stream):
            done.append(f"event on {stream}")

        def time_till(self, other):
            return 0.005 if other is not self else 0

    monkeypatch.setitem(sys.modules, "pycuda", SimpleNamespace(driver=SimpleNamespace(Event=Event)))
    device = SimpleNamespace(stream="ours", _flush=lambda: done.append("flush"), _wait=lambda _: done.append("wait"))
    us, enqueue = side_by_side.sampled(device, lambda: done.append("launch"), 3)
    assert done == ["flush", "event on ours", "launch", "event on ours", "wait"] * (side_by_side.WARM_UP + 3)
    assert us.tolist() == [5.0] * 3
    assert len(enqueue) == 3
