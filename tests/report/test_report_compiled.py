import json
import re

import pytest
import report_runs as runs
import yaml

from runner.record.folder import RunFolder
from runner.record.runs import overrides
from runner.report import build
from runner.report.page import compiled, configuration
from runner.stages.code import machine_code


def job(folder, number, kernel, macros):
    """A job's case.json, as far as the report reads it."""
    (folder / str(number)).mkdir(exist_ok=True)
    told = {"kernel": kernel, "macros": macros}
    (folder / str(number) / "case.json").write_text(json.dumps(told))


@pytest.fixture
def folder(run_folder):
    """A run of a kernel that includes a header, with a kernel beside it that no case used."""
    made = run_folder([runs.row(n, kernel="sumAll", block=64 << n) for n in range(3)])
    kernels, conf = made / "sources" / "kernels", made / "sources" / "conf" / "kernel"
    kernels.mkdir()
    conf.mkdir(parents=True)
    (kernels / "sum.cu").write_text('#include "warp.cuh"\n__global__ void sumAll() {}\n')
    (kernels / "warp.cuh").write_text("// what both share\n")
    (kernels / "unused.cu").write_text("// unused\n")
    (conf / "sumAll.yaml").write_text("source: ../../kernels/sum.cu\n")
    (conf / "unused.yaml").write_text("source: ../../kernels/unused.cu\n")
    for number, block in enumerate((64, 128, 256)):
        job(made, number, "sumAll", {"BLOCK": str(block), "SCALAR": "int"})
    return made


def names(found):
    """The files of the kernels, as far as they are shown."""
    return [list(one.files) for one in found]


def test_a_kernel_is_shown_as_it_was_compiled(folder):
    """Its macros come first, with the values of other cases, then source, include and YAML; the page shows no other file."""
    (found,) = compiled(folder, ["sumAll"])
    assert found.defines == ("#define BLOCK 64  // also 128, 256", "#define SCALAR int")
    assert names([found]) == [["kernels/sum.cu", "kernels/warp.cuh", "conf/kernel/sumAll.yaml"]]
    text = build(folder).read_text("utf-8")
    assert "#define SCALAR int\n\n#include &#34;warp.cuh&#34;\n__global__ void sumAll" in text
    assert "unused" not in text


def test_a_shared_file_is_shown_once(folder):
    """Two kernels of one header show it with the first."""
    (folder / "sources" / "kernels" / "other.cu").write_text('#include "warp.cuh"\n')
    assert names(compiled(folder, ["sumAll", "other", "missing"]))[1:] == [["kernels/other.cu"]]


@pytest.mark.parametrize("source", ["../../../../secret.cu", "/etc/passwd", "x" * 5000, "a\\0b", "[", "null", "."])
def test_nothing_outside_of_the_sources_is_shown(folder, source):
    """A folder from elsewhere may name any file; only those that it holds are read."""
    (folder.parent / "secret.cu").write_text("secret")
    declared = folder / "sources" / "conf" / "kernel" / "sumAll.yaml"
    declared.write_text(f"source: {source}\n")
    (folder / "sources" / "kernels" / "warp.cuh").write_text('#include "../../../secret.cu"\n')
    assert names(compiled(folder, ["sumAll", "../../../secret", "a\0b"])) == [["conf/kernel/sumAll.yaml"]]


@pytest.mark.parametrize("content", ["", "[]", '{"macros": 3}', '{"macros": {"A": null}, "kernel": ["x"]}'])
def test_a_torn_case_is_no_obstacle(folder, content):
    """Macros that cannot be read are left out."""
    (folder / "0" / "case.json").write_text(content)
    assert compiled(folder, ["sumAll"])[0].defines[0] == "#define BLOCK 128  // also 256"


def test_long_sources_are_cut(folder):
    """Of very long files the page shows a part, and says where the rest is."""
    (folder / "sources" / "kernels" / "sum.cu").write_text("// long\n" * 100_000)
    assert build(folder).stat().st_size < 500_000
    assert "[cut here: see sources/kernels/sum.cu]" in compiled(folder, ["sumAll"])[0].files["kernels/sum.cu"]


def test_the_configuration_is_that_of_the_first_job_that_kept_one(folder):
    """The resolved YAML is shown with the number of its job, and what the command set beside it."""
    assert configuration(RunFolder(folder)) is None
    kept = folder / "2" / ".hydra"
    kept.mkdir()
    (kept / "config.yaml").write_text(yaml.safe_dump({"block": 256, "timing": {"rounds": 3}}))
    assert configuration(RunFolder(folder)) == (2, "block: 256\ntiming:\n  rounds: 3\n")
    text = build(folder).read_text("utf-8")
    assert "resolved for job 2" in text
    assert "block=128,256,512\nsize=2**18" in text


@pytest.mark.parametrize(
    ("command", "told"),
    [
        ("python -m runner 'kernel=glob(reduce*)' +a.b=1", ["kernel=glob(reduce*)", "+a.b=1"]),
        ("python -m runner", []),
        ("an 'open quote runner a=b", []),
        ("", []),
    ],
)
def test_overrides_are_what_stands_behind_the_program(command, told):
    """Quotes are taken off; a command that is none has no overrides."""
    assert overrides(command) == told


CODE = "reduceShfl:\n @ reduceShfl.cu:4\n 0000 LDC R1, c[0x0][0x28]\n 0010 @!P0 LDG.E R4, desc[UR6][R4.64]\n 0020 STL [R1], R4\n"


@pytest.fixture
def coded(run_folder):
    """A coded of several sizes in which each case has a binary of its own, whose code is kept."""
    rows = [row | {"binary": f"{number:012x}"} for number, row in enumerate(runs.sweep())]
    path = run_folder(rows, columns=[*runs.COLUMNS, "binary"])
    for number, row in enumerate(rows):
        machine_code.keep(
            RunFolder(path), row["binary"], CODE + f" 0030 MOV R{number}, 0x1<i>\n", ".version 9.0 // <i>\n"
        )
    (path / "sources" / "reduceShfl.cu").write_text("//\n//\n//\n    sum += in[i];  // here\n")
    return path


def test_the_fastest_cases_have_their_code(coded):
    """Folded, with the text of the source's lines, registers and spills; the rest is counted, and stays in the folder."""
    build(coded)
    page = (coded / "report.html").read_text("utf-8")
    shown = re.findall(r'<details class="machine">.*?</details>', page, re.DOTALL)
    assert 0 < len(shown) <= 8
    assert all(
        "4 instructions, 16 registers a thread, 0 bytes of local memory a thread, 1 instruction" in s for s in shown
    )
    assert all("0x1&lt;i&gt;" in s and "<i>" not in s for s in shown)
    own = [s for s in shown if "Machine code of reduceShfl," in s]
    assert all("sum += in[i];" in s for s in own)
    assert all("<summary>PTX</summary>" in s and "// &lt;i&gt;" in s for s in shown)
    files = len(list((coded / "machine").glob("*.txt")))
    assert f"has the machine code of {files - len(shown)} other binaries" in page


@pytest.mark.usefixtures("without_figures")
def test_a_page_does_not_grow_with_the_code(coded):
    """A long listing is cut; a folder without code, or with files that are none, has no section."""
    build(coded)
    small = (coded / "report.html").stat().st_size
    for path in (coded / "machine").glob("*.txt"):
        path.with_suffix(".ptx").write_text("ld.param.u64 %rd1; // a long kernel\n" * 9000)
        path.write_text(CODE + "".join(f" {n:04x} NOP ; padding of a long kernel\n" for n in range(3, 9000)))
    build(coded)
    page = (coded / "report.html").read_text("utf-8")
    assert page.count("further lines: see machine/") > 0
    assert len(page) < small + 8 * 60_000
    for path in (coded / "machine").iterdir():
        path.unlink()
        path.mkdir()
    build(coded)
    assert "Machine code" not in (coded / "report.html").read_text("utf-8")
