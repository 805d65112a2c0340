"""`runner export --format header|json|csv`: the winners of a run, for programs that use its kernels."""

import csv
import io
import itertools
import json
import shutil
import subprocess
from pathlib import Path

import pytest
from mistakes import assert_mistake, assert_refused
from outcomes import rows
from processes import run

H200 = Path(__file__).parent / "h200_sweep"
OWN = Path(__file__).parent / "kernels"
COMPILERS = [pytest.param(name, id=name) for name in ("g++", "nvcc")]


def header_of(folder, *options):
    """The header of a run that was measured on an H200."""
    done = run(folder, "export", "--format", "header", *options)
    assert done.code == 0, done.err
    return done


def macros(compiler, header, *defined):
    """What a header defines, by the preprocessor of a compiler; the program that includes it compiles."""
    if not shutil.which(compiler):
        pytest.skip(f"there is no {compiler}")
    program = header.with_name("program.cu" if compiler == "nvcc" else "program.cpp")
    program.write_text(
        f'#include "{header.name}"\n#include "{header.name}"\nint main() {{ return TUNED_BLOCK_X <= 0; }}\n'
    )
    flags = [f"-D{name}" for name in defined]
    subprocess.run([compiler, *flags, "-o", header.with_name("program"), program], check=True, capture_output=True)
    subprocess.run([header.with_name("program")], check=True)
    options = ["-x", "c++", "-dM", "-E"] if compiler == "g++" else ["-Xcompiler", "-dM", "-E"]
    text = subprocess.run([compiler, *flags, *options, program], check=True, capture_output=True, text=True).stdout
    pairs = (line.split(" ", 2)[1:] for line in text.splitlines() if line.startswith("#define TUNED_"))
    return {name: (rest[0] if rest else "") for name, *rest in pairs}


@pytest.fixture
def measured(tmp_path):
    """A sweep that was measured on an H200."""
    shutil.copytree(H200, tmp_path / "run")
    return tmp_path


def fastest(folder):
    """The fastest correct case of each size and place where the sum is finished, by the medians of results.csv."""
    timed = [row for row in rows(folder) if row["status"] == "ok" and row["median_us"] and row["family"] == "reduction"]
    best = {}
    for row in timed:
        size = (row["finish"], int(row["size"]))
        if size not in best or float(row["median_us"]) < float(best[size]["median_us"]):
            best[size] = row
    return best


@pytest.mark.parametrize("compiler", COMPILERS)
def test_a_header_compiles_and_has_the_winner_of_each_size(measured, compiler):
    """Each measured size gives its winner, one in between that of the next larger one, a larger one that of the largest."""
    header = measured / "tuned.h"
    assert "Written: tuned.h" in header_of(measured, "run", "--to", "tuned.h").err
    found = json.loads(run(measured, "export", "--format", "json", "run").out)["winners"]
    assert {one["gpu"] for one in found} == {"NVIDIA H200"}
    winners = {one["size"]["size"]: one for one in found if one["group"]["finish"] == "device"}
    assert len(found) > len(winners) > 1
    sizes = sorted(winners)
    asked = [(None, sizes[-1]), (sizes[-1] * 4, sizes[-1]), *zip(sizes, sizes, strict=True)]
    asked += [(before + 1, after) for before, after in itertools.pairwise(sizes)]
    for size, expected in asked if compiler == "g++" else asked[:3]:
        got = macros(compiler, header, "TUNED_FINISH_DEVICE", *([f"TUNED_SIZE={size}"] if size else []))
        assert got["TUNED_KERNEL"] == winners[expected]["kernel"]
        assert got["TUNED_BLOCK_X"] == winners[expected]["parameters"]["block_x"]


def test_the_winners_are_the_fastest_cases(measured):
    """JSON and CSV name the same ones, with their times."""
    best = fastest(measured / "run")
    found = json.loads(run(measured, "export", "--format", "json", "run").out)
    assert (found["schema"], found["run"]) == (1, "run")
    times = {(one["group"]["finish"], one["size"]["size"]): one["numbers"]["median_us"] for one in found["winners"]}
    assert times == pytest.approx({key: float(row["median_us"]) for key, row in best.items()})
    table = list(csv.DictReader(io.StringIO(run(measured, "export", "--format", "csv", "run").out)))
    assert [(int(row["size"]), row["kernel"], row["block_x"]) for row in table] == [
        (one["size"]["size"], one["kernel"], one["parameters"]["block_x"]) for one in found["winners"]
    ]


def as_if_on_gpus(folder, names):
    """Turn the rows of the CPU device into those of GPUs with these names, one for each row."""
    table = rows(folder)
    for number, (row, name) in enumerate(zip(table, names, strict=True)):
        row |= {"device": "cuda", "median_us": 10.0 - number, "emulated_us": "", "gpu": name}
    with (folder / "results.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, list(table[0]))
        writer.writeheader()
        writer.writerows(table)


@pytest.mark.parametrize("compiler", COMPILERS[:1])
def test_a_header_has_the_macros_with_which_the_winner_was_compiled(tmp_path, compiler):
    """They follow from the kernel's YAML in the run's folder; a type is a macro, too."""
    sweep = ("--config-dir", str(OWN), "-m", "kernel=saxpy", "dtype=float32,float64", "size=1000", "device=cpu")
    assert run(tmp_path, *sweep, "hydra.sweep.dir=run").code == 0
    as_if_on_gpus(tmp_path / "run", ["", ""])
    header_of(tmp_path, "run", "--to", "tuned.h")
    text = (tmp_path / "tuned.h").read_text()
    assert text.count("#define SCALAR float\n") == text.count("#define SCALAR double\n") == 1
    got = macros(compiler, tmp_path / "tuned.h", "TUNED_DTYPE_FLOAT64")
    assert got["TUNED_FACTOR"] == "3"
    assert "TUNED_FILL" not in got, "inputs are not tuned"
    with pytest.raises(subprocess.CalledProcessError) as failure:
        macros(compiler, tmp_path / "tuned.h")
    assert b"define TUNED_DTYPE_FLOAT32 or TUNED_DTYPE_FLOAT64" in failure.value.stderr


def test_a_run_without_times_of_a_gpu_has_no_winner(tmp_path):
    """Emulated times say nothing about a GPU; T4, which is what .json stands for, takes them."""
    sweep = ("--config-dir", str(OWN), "kernel=saxpy", "size=1000", "device=cpu", "hydra.sweep.dir=run")
    assert run(tmp_path, *sweep).code == 0
    for name in ("header", "json", "csv"):
        assert_refused(run(tmp_path, "export", "--format", name, "run"), "run: there is no winner", "emulated")
    assert run(tmp_path, "export", "run", "--to", "run.json").code == 0
    assert run(tmp_path, "import", "run.json", "--into", "again").code == 0


def test_the_ending_of_the_file_says_the_format(measured):
    """A table for .csv, a header for .h; another ending is a mistake, unless --format says what is wanted."""
    beginnings = {"w.csv": "gpu,kernel,", "w.h": "/"}
    for name, beginning in beginnings.items():
        assert run(measured, "export", "run", "--to", name).code == 0
        assert (measured / name).read_text().startswith(beginning)
    assert_mistake(measured, ["export", "run", "--to", "w.txt"], "--to w.txt: expected a file ending in .json, .h")
    assert run(measured, "export", "run", "--to", "w.txt", "--format", "csv").code == 0
    assert (measured / "w.txt").read_text() == (measured / "w.csv").read_text()


def test_a_header_is_not_written_over_a_file(measured):
    """As other exports."""
    (measured / "tuned.h").write_text("mine")
    assert_refused(run(measured, "export", "--format", "header", "run", "--to", "tuned.h"), "already exists")
    assert (measured / "tuned.h").read_text() == "mine"


@pytest.mark.parametrize("compiler", COMPILERS[:1])
def test_each_gpu_has_its_own_winner(tmp_path, compiler):
    """The program says for which GPU it is compiled; without, the compiler asks."""
    sweep = ("--config-dir", str(OWN), "-m", "kernel=saxpy", "block=64,128", "size=1000", "device=cpu")
    assert run(tmp_path, *sweep, "hydra.sweep.dir=run").code == 0
    uuid = "GPU-{}-0000-0000-0000-000000000000"
    as_if_on_gpus(
        tmp_path / "run", [f"NVIDIA {n} {uuid.format(d * 8)}" for n, d in (("H100 PCIe", "1"), ("H200", "2"))]
    )
    header_of(tmp_path, "run", "--to", "tuned.h")
    blocks = {
        target: macros(compiler, tmp_path / "tuned.h", target)["TUNED_BLOCK_X"]
        for target in ("TARGET_NVIDIA_H100_PCIE", "TARGET_NVIDIA_H200")
    }
    assert sorted(blocks.values()) == ["128", "64"]
    with pytest.raises(subprocess.CalledProcessError) as failure:
        macros(compiler, tmp_path / "tuned.h")
    assert b"define TARGET_NVIDIA_H100_PCIE or TARGET_NVIDIA_H200" in failure.value.stderr
