"""The benchmarks, as far as they need no GPU: each starts, and tells what it cannot do."""

from __future__ import annotations

import itertools
import os
import random
import runpy
import subprocess
import sys

import pandas as pd
import pytest
from support import CONF, ROOT, read_kernel

sys.path.append(str(ROOT / "benchmarks"))
sys.path.insert(0, str(ROOT / "tools"))

import agreement
import our_kernels
import reduction
import side_by_side
import stencil
import tables
import transpose

NATIVE = sorted(p.name for p in (ROOT / "benchmarks" / "native").glob("*.cu"))
STARTED = [
    path
    for path in sorted([*(ROOT / "benchmarks").glob("*.py"), *(ROOT / "tools").glob("*.py")])
    if "__main__" in (text := path.read_text()) and ("ArgumentParser(" in text or "= options(" in text)
]


@pytest.mark.parametrize("path", STARTED, ids=lambda path: path.stem)
def test_each_script_starts_and_says_what_it_takes(path, monkeypatch, capsys):
    """With --help, though none of the libraries is there that it measures."""
    if "\nfrom pycuda import" in path.read_text():
        pytest.importorskip("pycuda", reason="PyCUDA is not installed")
    monkeypatch.setattr(sys, "argv", [path.name, "--help"])
    monkeypatch.syspath_prepend(str(path.parent))
    with pytest.raises(SystemExit) as ended:
        runpy.run_path(str(path), run_name="__main__")
    assert not ended.value.code
    assert "--" in capsys.readouterr().out


@pytest.mark.nvcc
@pytest.mark.parametrize("name", NATIVE)
def test_what_is_built_natively_compiles_without_a_warning(name, tmp_path):
    """Each source becomes a shared library, by the options with which the benchmarks build it."""
    options = ["-shared", "-Xcompiler", "-fPIC", "-O3", "-std=c++17", "-arch=sm_90", "-Werror", "all-warnings"]
    source = ROOT / "benchmarks" / "native" / name
    command = ["nvcc", *options, "-o", str(tmp_path / "built.so"), str(source)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_a_missing_package_is_one_sentence_and_status_2(monkeypatch, capsys):
    """Which one, and what is needed in all."""
    monkeypatch.setattr(side_by_side.importlib.util, "find_spec", lambda name: None if name == "cupy" else name)
    with pytest.raises(SystemExit) as ended, side_by_side.gpu():
        pass
    assert ended.value.code == 2
    assert capsys.readouterr().err.splitlines() == [
        "CuPy not installed: this benchmark needs PyCUDA, PyTorch, CuPy and nvcc"
    ]


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


WRONG = [
    (reduction, ("--choose", "--sizes", "31"), "--sizes '31': a whole number from 14 to 30"),
    (reduction, ("--choose", "--dtypes", "foo"), "--dtypes 'foo': int32 or float32"),
    (reduction, ("--choose", "--rounds", "0"), "--rounds '0': a whole number from 1 to 10000"),
    (transpose, ("--choose", "--shapes", "3x4x5"), "--shapes '3x4x5': ROWSxCOLUMNS"),
    (stencil, ("--choose", "--dtypes", "int32"), "--dtypes 'int32': float32 or float64"),
    (stencil, ("--chosen", "none.csv"), "there is no such file; --choose finds the configurations"),
    (reduction, ("--chosen", str(ROOT / "README.md")), "cannot be read as a table"),
]


@pytest.mark.parametrize(("benchmark", "arguments", "told"), WRONG)
def test_what_cannot_be_is_one_sentence(benchmark, arguments, told, monkeypatch, capsys):
    """An option, or the file of what was chosen; before anything is looked for or begun."""
    monkeypatch.setattr(sys, "argv", [f"{benchmark.NAME}.py", *arguments])
    with pytest.raises(SystemExit) as ended:
        benchmark.main()
    said = capsys.readouterr()
    assert (ended.value.code, said.out) == (2, "")
    (line,) = said.err.splitlines()
    assert told in line


SHARED = {kernel.name for kernel in map(read_kernel, (CONF / "kernel").glob("*.yaml")) if not kernel.gpu_only}


def run(*arguments, **environment):
    """The command, as its head tells it."""
    command = [sys.executable, "tools/agreement.py", *map(str, arguments)]
    own = {**os.environ, **environment}
    return subprocess.run(command, cwd=ROOT, env=own, capture_output=True, text=True, timeout=200, check=False)


def test_every_kernel_that_both_devices_run_is_drawn():
    """Also one that was added since: a parameter for which nothing can be drawn would end the command."""
    cases = list(agreement.drawn(len(SHARED), random.Random(1)))
    assert {case.kernel.name for case in cases} == SHARED


@pytest.mark.gpu
def test_a_case_of_each_kernel_gives_the_same_on_both(tmp_path):
    """The table has a row for each, and all agree."""
    done = run(tmp_path / "table.csv", "--cases", len(SHARED), "--seed", "2")
    assert done.returncode == 0, done.stdout + done.stderr
    table = pd.read_csv(tmp_path / "table.csv")
    assert set(table.kernel) == SHARED
    assert table.agree.all()
