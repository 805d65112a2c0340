"""The machine code of the fastest cases in the page."""

import re

import pytest
import report_runs as runs

from runner.record.folder import RunFolder
from runner.report import build
from runner.stages.code import machine_code

CODE = "reduceShfl:\n @ reduceShfl.cu:4\n 0000 LDC R1, c[0x0][0x28]\n 0010 @!P0 LDG.E R4, desc[UR6][R4.64]\n 0020 STL [R1], R4\n"


@pytest.fixture
def sweep(run_folder):
    """A sweep of several sizes in which each case has a binary of its own, whose code is kept."""
    rows = [row | {"binary": f"{number:012x}"} for number, row in enumerate(runs.sweep())]
    path = run_folder(rows, columns=[*runs.COLUMNS, "binary"])
    for number, row in enumerate(rows):
        machine_code.keep(
            RunFolder(path), row["binary"], CODE + f" 0030 MOV R{number}, 0x1<i>\n", ".version 9.0 // <i>\n"
        )
    (path / "sources" / "reduceShfl.cu").write_text("//\n//\n//\n    sum += in[i];  // here\n")
    return path


def test_the_fastest_cases_have_their_code(sweep):
    """Folded, with the text of the source's lines, registers and spills; the rest is counted, and stays in the folder."""
    build(sweep)
    page = (sweep / "report.html").read_text("utf-8")
    shown = re.findall(r'<details class="machine">.*?</details>', page, re.DOTALL)
    assert 0 < len(shown) <= 8
    assert all(
        "4 instructions, 16 registers a thread, 0 bytes of local memory a thread, 1 instruction" in s for s in shown
    )
    assert all("0x1&lt;i&gt;" in s and "<i>" not in s for s in shown)
    own = [s for s in shown if "Machine code of reduceShfl," in s]
    assert all("sum += in[i];" in s for s in own)
    assert all("<summary>PTX</summary>" in s and "// &lt;i&gt;" in s for s in shown)
    files = len(list((sweep / "machine").glob("*.txt")))
    assert f"has the machine code of {files - len(shown)} other binaries" in page


@pytest.mark.usefixtures("without_figures")
def test_a_page_does_not_grow_with_the_code(sweep):
    """A long listing is cut; a folder without code, or with files that are none, has no section."""
    build(sweep)
    small = (sweep / "report.html").stat().st_size
    for path in (sweep / "machine").glob("*.txt"):
        path.with_suffix(".ptx").write_text("ld.param.u64 %rd1; // a long kernel\n" * 9000)
        path.write_text(CODE + "".join(f" {n:04x} NOP ; padding of a long kernel\n" for n in range(3, 9000)))
    build(sweep)
    page = (sweep / "report.html").read_text("utf-8")
    assert page.count("further lines: see machine/") > 0
    assert len(page) < small + 8 * 60_000
    for path in (sweep / "machine").iterdir():
        path.unlink()
        path.mkdir()
    build(sweep)
    assert "Machine code" not in (sweep / "report.html").read_text("utf-8")
