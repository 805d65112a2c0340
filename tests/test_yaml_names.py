"""Names of parameters: capitals, the rows and columns of a kernel without a size, and what is taken."""

import json
import shutil

import pytest
from mistakes import assert_refused, write_files
from outcomes import rows as table
from support import MINE_CU as CU
from support import ROOT, case_of, read_kernel
from support import mine_yaml as yaml_of

from runner.errors import UsageError
from runner.record.run import read

GEMM = ROOT / "tests" / "kernels" / "gemm"
CPU = ("--config-dir", GEMM, "device=cpu")

COPY_CU = """__global__ void copy(const float* in, float* out, int rows, int cols)
{
    const int row = blockIdx.y, col = blockIdx.x * blockDim.x + threadIdx.x;
    if (col < cols) out[row * cols + col] = in[row * cols + col];
}
"""
COPY = """parameters: {block: 64, rows: 8, cols: 100}
arguments:
  - {name: in, role: in, dtype: float32, shape: [rows, cols], fill: random}
  - {name: out, role: out, dtype: float32, shape: [rows, cols]}
  - {name: rows, scalar: int32, value: rows}
  - {name: cols, scalar: int32, value: cols}
grid: ["ceil_div(cols, block)", rows]
reference: {out: in}
"""


def test_a_sweep_of_capitals_goes_all_the_way(runner, tmp_path):
    """M and BM are overrides, macros, columns, words of filters and of reports; runs are compared, repeated and searched."""
    done = runner(*CPU, "kernel=tiledGemm", "BM=32,64", "M=64,65", "lines=none")
    assert done.code == 0, done.err
    folder = done.folder
    found = table(folder)
    assert {(row["BM"], row["M"], row["block"]) for row in found} == {
        ("32", "64", "64"), ("32", "65", "64"), ("64", "64", "128"), ("64", "65", "128"),
    }  # fmt: skip
    assert {row["status"] for row in found} == {"ok"}
    assert min(int(row["size_launches"]) for row in found) > 0, "other values of M, N and K are tried"
    assert set(read(folder).varying) == {"kernel", "block", "BM", "M"}
    assert ">BM</th>" in (folder / "report.html").read_text()
    again = runner(str(folder), module="runner.repeat")
    assert "4 same" in again.out, again.err
    (repeated,) = {*tmp_path.glob("outputs/*/*")} - {folder}
    compared = runner(str(folder), str(repeated), "--csv", "changes.csv", module="runner.compare")
    assert compared.code == 0, compared.err
    assert {"BM", "M"} <= set((tmp_path / "changes.csv").read_text().splitlines()[0].split(","))
    listed = runner("M=65", "BM=64", module="runner.list")
    assert folder.name in listed.out, listed.err
    assert "no case has" not in listed.err


def test_a_search_varies_capitals(runner):
    """Its space has their names, and only what the constraints allow."""
    done = runner(*CPU, "kernel=tiledGemm", "hydra/sweeper=search", "hydra.sweeper.sampler=grid", "BM=32,48,64", "TM=4,16,64",
                  "hydra.sweeper.objective=global_load_sectors", "racecheck=none", "lines=all")  # fmt: skip
    assert done.code == 0, done.err
    space = json.loads((done.folder / "search.json").read_text())
    assert (space["parameters"], space["legal"]) == (["BM", "TM"], 7), "BM % TM == 0"


def test_a_judge_sets_capitals(runner, tmp_path):
    """An override reaches the candidate and the baseline."""
    folder = shutil.copytree(GEMM, tmp_path / "gemm") / "kernel"
    text = (folder / "tiledGemm.yaml").read_text()
    (folder / "other.yaml").write_text(f"source: tiledGemm.cu\nfunction: tiledGemm\n{text}")
    words = ("--kernel", "other", "--baseline", "tiledGemm", "--config-dir", "gemm", "device=cpu", "BM=64")
    done = runner(*words, module="runner.judge")
    assert done.code == 4, "both are right; the CPU device does not judge times"
    assert {row["BM"] for row in table(done.folder)} == {"64"}


@pytest.mark.parametrize(
    ("parameters", "sentence"),
    [
        ("{block: 64, size: 9, M: 1, m: 2}", "parameters: 'M' and 'm' differ only by case"),
        ("{block: 64, size: 9, BLOCK: 1}", "'BLOCK' differs only by case from the parameter 'block'; write block"),
        ("{block: 64, size: 9, Samples: 1}", "'Samples' differs only by case from the column of results.csv 'samples'"),
        ("{block: 64, size: 9, samples: 1}", "'samples' is reserved for the column of results.csv 'samples'"),
        ("{block: 64, size: 9, timing: 1}", "'timing' is reserved for 'timing' of the configuration"),
        ("{block: 64, size: 9, ROWS: 1}", "'ROWS' differs only by case from the parameter 'rows'; write rows"),
        ("{block: 64, size: 9, rows: 1}", "'rows' is a part of the parameter 'size'; choose another name"),
        ("{block: 64, size: 9, cache: 1}", "every kernel has the parameter 'cache', so one of your own needs another"),
        ("{block: 64, size: 9, True: 1}", "'true' is not a valid name"),
        ("{block: 64, size: 9, None: 1}", "'None' is a keyword or a function of expressions"),
        ("{block: 64, size: 9, é: 1}", "'é' is not a valid name; allowed: up to 32 letters, digits and _"),
    ],
)
def test_a_name_that_is_taken_is_refused(parameters, sentence, tmp_path):
    """The sentence says what has the name, up to the case of its letters."""
    write_files(tmp_path, {"mine.cu": CU, "mine.yaml": yaml_of(parameters=parameters)})
    with pytest.raises(UsageError, match=":") as raised:
        read_kernel(tmp_path / "mine.yaml")
    assert sentence in str(raised.value)


def test_a_macro_of_capitals_is_the_parameter_of_that_name(tmp_path):
    """`macros: [TILE, WIDE]` are the parameters TILE and wide."""
    write_files(tmp_path, {"mine.cu": CU, "mine.yaml": yaml_of(
        parameters="{block: 64, size: 9, TILE: 7, wide: 5, dtype: int32}", macros="[TILE, WIDE, SCALAR]",
    )})  # fmt: skip
    macros = dict(case_of(read_kernel(tmp_path / "mine.yaml")).source().macros)
    assert macros == {"TILE": "7", "WIDE": "5", "SCALAR": "int"}


def test_kernels_whose_names_differ_only_by_case_are_not_swept_together(runner, tmp_path):
    """Their columns and figures would differ only by case; each runs by itself."""
    for name, parameter in (("one", "tile"), ("two", "TILE")):
        text = yaml_of(parameters=f"{{block: 64, size: 1000, {parameter}: 1}}", function="mine", source="mine.cu")
        write_files(tmp_path, {"kernel/mine.cu": CU, f"kernel/{name}.yaml": text})
    both = runner("--config-dir", ".", "kernel=one,two", "device=cpu")
    assert_refused(both, "parameters 'tile' of one and 'TILE' of two", "a sweep cannot have both")
    alone = runner("--config-dir", ".", "kernel=two", "device=cpu", "TILE=2", "lines=none")
    assert alone.code == 0, alone.err


def test_a_kernel_without_a_size_may_have_rows_and_columns(runner, tmp_path):
    """They are overrides, fill the columns of that name, vary in reports, and the check tries others of them."""
    write_files(tmp_path, {"kernel/copy.cu": COPY_CU, "kernel/copy.yaml": COPY})
    done = runner("--config-dir", ".", "kernel=copy", "device=cpu", "rows=8,9", "cols=100,128", "lines=none")
    assert done.code == 0, done.err
    found = table(done.folder)
    assert {(row["rows"], row["cols"], row["size"]) for row in found} == {
        ("8", "100", ""), ("8", "128", ""), ("9", "100", ""), ("9", "128", ""),
    }  # fmt: skip
    assert min(int(row["size_launches"]) for row in found) > 0
    run = read(done.folder)
    assert set(run.varying) == {"kernel", "rows", "cols"}
    assert run.own_parameters == ["rows", "cols"]
    assert "4 same" in runner(str(done.folder), module="runner.repeat").out


def test_the_filter_of_a_report_takes_capitals(runner, browser):
    """As they are and in small letters, for a column of the table and for one that the table does not show."""
    done = runner(*CPU, "kernel=tiledGemm", "BM=32,64", "lines=none", "racecheck=none")
    page = browser.new_page()
    page.goto((done.folder / "report.html").as_uri())
    for words, number in (("BM=64", 1), ("bm=64", 1), ("BK=8", 2), ("bk<8", 0)):
        page.locator("#filter").fill(words)
        assert page.locator(".filter output").inner_text() == f"{number} of 2 cases"
