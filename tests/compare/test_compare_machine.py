"""The difference of the machine code of cases, in runs written here."""

import compare_runs
import pytest

from runner.record.folder import RunFolder
from runner.stages.code import machine_code

CODE = "k:\n @ k.cu:4\n 0000 LDC R1, c[0x0][0x28]\n 0010 FADD R5, R4, R4\n.L_x_2:\n 0020 BRA `(.L_x_2)\n"
MOVED = CODE.replace("R4", "R7").replace(".L_x_2", ".L_x_9").replace(" 00", " 11").replace(":4", ":8")


@pytest.fixture
def two(compare, tmp_path):
    """Two runs of three cases: the first has the same binary, the second an equal one, the third another one."""
    for name, other in (("A", "a"), ("B", "b")):
        binaries = ["0" * 12, other * 12, f"{other}1" * 6]
        rows = [compare_runs.timed(n, 10.0 + n, kernel="k", binary=b) for n, b in enumerate(binaries)]
        compare.write(name, rows)
        codes = [CODE, CODE, CODE] if name == "A" else [CODE, MOVED, MOVED.replace("FADD", "FMUL")]
        for binary, code in zip(binaries, codes, strict=True):
            machine_code.keep(RunFolder(tmp_path / name), binary, code, "")
    return tmp_path


def test_a_changed_binary_shows_its_instructions(two, compare):
    """Told as a sentence and shown folded; equal code in other bytes is told, and the same binary is not mentioned."""
    done = compare.folders("A", "B", "--html", "page.html")
    said = " ".join(done.out.split())
    assert "1 instruction removed, 1 added" in said
    assert said.count("the same instructions") == 1
    page = (two / "page.html").read_text("utf-8")
    assert "-FADD R5, R4, R4\n+FMUL R5, R7, R7" in page
    assert page.count("<summary>k, ") + page.count("<summary>k:") == 1


def test_folders_without_code_are_compared_as_before(two, compare):
    """Where one of them has no code, nothing is said of it."""
    for path in (two / "B" / "machine").iterdir():
        path.unlink()
    done = compare.folders("A", "B", "--html", "page.html")
    assert "Machine code in" not in done.out
    assert "<h2>Machine code" not in (two / "page.html").read_text("utf-8")
