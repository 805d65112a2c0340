"""What the comparison says of lines that cost something else, and of other machine code, in runs written here."""

import compare_runs
import pytest

from runner.record.folder import RunFolder
from runner.stages.code import machine_code
from runner.stages.lines import costs as lines
from runner.stages.lines.costs import LineCost

BEFORE = "__global__ void k()\n{\n    tile[y][x] = in[i];\n    out[x * n] = tile[x][y];\n}\n"
AFTER = "// padded\n" + BEFORE.replace("out[x * n]", "out[y * n]")


def put(folder, text, costs):
    """Give a run its source and what its lines cost."""
    (folder / "sources" / "kernels").mkdir(parents=True, exist_ok=True)
    (folder / "sources" / "kernels" / "k.cu").write_text(text)
    for job, line in enumerate((folder / "results.csv").read_text().splitlines()[1:]):
        (folder / str(job)).mkdir(exist_ok=True)
        lines.keep(RunFolder(folder), job, line.split(",")[0], "k", costs)
    lines.write(RunFolder(folder))


def costs(shift, sectors, wavefronts):
    """A load that never changes, and a line that does."""
    return [
        LineCost("k.cu", 3 + shift, "global", "load", 3, 96, 32.0, 128.0, 4.0, 4.0),
        LineCost("k.cu", 4 + shift, "global", "store", 3, 96, 32.0, 128.0, sectors, 4.0),
        LineCost("k.cu", 4 + shift, "shared", "load", 3, 96, 32.0, 128.0, None, None, wavefronts, 1.0),
    ]


@pytest.fixture
def two(compare, tmp_path):
    """Two runs of the same two cases, of which the second writes side by side."""
    rows = [compare_runs.timed(n, 10.0 + n, kernel="k") for n in range(2)]
    compare(rows, rows)
    put(tmp_path / "A", BEFORE, costs(0, 32.0, 1.0))
    put(tmp_path / "B", AFTER, costs(1, 4.0, 1.0))
    return tmp_path


def test_a_line_that_costs_less_is_told_though_its_number_changed(two, compare):
    """The line is found again below a new comment; lines that cost the same are not told."""
    done = compare.folders("A", "B", "--html", "page.html")
    assert "k.cu:5, global store: 32 -> 4 sectors per request in 2 cases: out[y * n]" in " ".join(done.out.split())
    assert "k.cu:4" not in done.out
    page = (two / "page.html").read_text("utf-8")
    assert "32 -&gt; 4 sectors" in page


def test_the_page_of_changed_lines_has_no_error(two, compare, browser):
    """The page's script does not take the changed lines for annotated sources, which have a filter."""
    compare.folders("A", "B", "--html", "page.html")
    page, wrong = browser.new_page(), []
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.goto((two / "page.html").as_uri())
    page.close()
    assert wrong == []


def test_equal_costs_are_not_told(two, compare):
    """A run compared with one that costs the same has no such part."""
    put(two / "B", AFTER, costs(1, 32.0, 1.0))
    assert "cost changed" not in compare.folders("A", "B").out


CODE = "k:\n @ k.cu:4\n 0000 LDC R1, c[0x0][0x28]\n 0010 FADD R5, R4, R4\n.L_x_2:\n 0020 BRA `(.L_x_2)\n"
MOVED = CODE.replace("R4", "R7").replace(".L_x_2", ".L_x_9").replace(" 00", " 11").replace(":4", ":8")


@pytest.fixture
def coded(compare, tmp_path):
    """Two runs of three cases: the first has the same binary, the second an equal one, the third another one."""
    for name, other in (("A", "a"), ("B", "b")):
        binaries = ["0" * 12, other * 12, f"{other}1" * 6]
        rows = [compare_runs.timed(n, 10.0 + n, kernel="k", binary=b) for n, b in enumerate(binaries)]
        compare.write(name, rows)
        codes = [CODE, CODE, CODE] if name == "A" else [CODE, MOVED, MOVED.replace("FADD", "FMUL")]
        for binary, code in zip(binaries, codes, strict=True):
            machine_code.keep(RunFolder(tmp_path / name), binary, code, "")
    return tmp_path


def test_a_changed_binary_shows_its_instructions(coded, compare):
    """Told as a sentence and shown folded; equal code in other bytes is told, and the same binary is not mentioned."""
    done = compare.folders("A", "B", "--html", "page.html")
    said = " ".join(done.out.split())
    assert "1 instruction removed, 1 added" in said
    assert said.count("the same instructions") == 1
    page = (coded / "page.html").read_text("utf-8")
    assert "-FADD R5, R4, R4\n+FMUL R5, R7, R7" in page
    assert page.count("<summary>k, ") + page.count("<summary>k:") == 1


def test_folders_without_code_are_compared_as_before(coded, compare):
    """Where one of them has no code, nothing is said of it."""
    for path in (coded / "B" / "machine").iterdir():
        path.unlink()
    done = compare.folders("A", "B", "--html", "page.html")
    assert "Machine code in" not in done.out
    assert "<h2>Machine code" not in (coded / "page.html").read_text("utf-8")
