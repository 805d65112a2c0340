"""What the comparison says of lines that cost something else, and of other machine code, in runs written here."""

import re
import shutil

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


def costs(shift, sectors, wavefronts, ideal=4.0):
    """A load that never changes, and a line that does."""
    return [
        LineCost("k.cu", 3 + shift, "global", "load", 3, 96, 32.0, 128.0, 4.0, 4.0),
        LineCost("k.cu", 4 + shift, "global", "store", 3, 96, 32.0, 128.0, sectors, ideal),
        LineCost("k.cu", 4 + shift, "shared", "load", 3, 96, 32.0, 128.0, None, None, wavefronts, 1.0),
    ]


def write_two(tmp_path, compare, device):
    """Two runs of the same two cases, of which the second writes side by side."""
    for name in "AB":
        compare.write(name, [compare_runs.timed(n, 10.0 + n, kernel="k", device=device, block=64 << n) for n in (0, 1)])
    put(tmp_path / "A", BEFORE, costs(0, 32.0, 1.0))
    put(tmp_path / "B", AFTER, costs(1, 4.0, 1.0))
    return tmp_path


@pytest.fixture
def two(compare, tmp_path):
    """Two runs of a GPU."""
    return write_two(tmp_path, compare, "cuda")


@pytest.fixture
def emulated(compare, tmp_path):
    """Two runs of the CPU device, whose times say nothing."""
    return write_two(tmp_path, compare, "cpu")


FELL = "k.cu:5: 32 -> 4 sectors a request in 2 cases (better)"
ROSE = "k.cu:4: 4 -> 32 sectors a request in 2 cases (worse)"


def test_a_line_that_costs_less_is_told_though_its_number_changed(two, compare):
    """The line is found again below a new comment, with its cases; lines that cost the same are not told."""
    said = " ".join(compare.folders("A", "B").out.split())
    assert f"2 same. Counted: {FELL}." in said
    assert (
        "better: k.cu:5, global store: 32 -> 4 sectors a request in 2 cases (block 64; block 128): out[y * n]" in said
    )
    assert "k.cu:4" not in said


@pytest.mark.browser
def test_a_counted_change_is_the_headline_without_times(emulated, compare, open_page):
    """Terminal, page and CSV lead with it and its word, green or red, and say that it predicts no time."""
    for runs, said, word in ((("B", "A"), ROSE, "worse"), (("A", "B"), FELL, "better")):
        done = compare.folders(*runs, *(("--html", "page.html") if word == "better" else ()))
        assert done.out.startswith(f"{runs[1]} against {runs[0]}: {said}. 2 common cases: none broken, 2 same.")
        assert "predicts memory work, not time" in done.out
        assert [(row["word"], row["counted"]) for row in done.rows] == [("same", word)] * 2
        place, values = said.partition(" a request")[0].split(": ")
        assert done.rows[0]["counted_change"] == f"{place}, global store: {values}"
    page = open_page(emulated / "page.html")
    assert FELL in page.locator(".verdict.good").inner_text()
    assert page.locator("#cases table.sortable").get_by_text("better", exact=True).count() == 2
    assert page.locator("main > section").first.get_attribute("id") == "changed-lines"


def test_a_counted_regression_fails_only_if_asked(emulated, compare):
    """The exit status is that of times and results; with --fail-on-counted, more memory work is a failure, less is not."""
    assert [compare.folders("B", "A").code, compare.folders("B", "A", "--strict").code] == [0, 0]
    assert [compare.folders(*runs, "--fail-on-counted").code for runs in ("AB", "BA")] == [0, 1]
    shutil.copytree(emulated / "B", emulated / "C")
    assert re.search(r"^k +64 +ok +4 -> 32 sectors, worse +same$", compare.folders("B", "A", "C").out, re.MULTILINE)


def test_a_wider_access_is_neither_better_nor_worse(emulated, compare):
    """What needs more sectors for as many more bytes is changed; what exceeds its ideal by more is worse."""
    put(emulated / "A", AFTER, costs(1, 4.0, 1.0))
    for sectors, word in ((16.0, "changed"), (32.0, "worse")):
        put(emulated / "B", AFTER, costs(1, sectors, 1.0, ideal=16.0))
        assert {row["counted"] for row in compare.folders("A", "B").rows} == {word}


def test_rewritten_lines_are_judged_by_the_average(emulated, compare):
    """If no line of a kernel is found again, the averages over all its lines have the word."""
    moved = [LineCost("new.cu", 9, "global", "store", 3, 96, 32.0, 128.0, 4.0, 4.0), *costs(1, 4.0, 1.0)[::2]]
    put(emulated / "B", AFTER, moved)
    assert compare.folders("A", "B").out.startswith(
        "B against A: k, global stores: 32 -> 4 sectors a request in 2 cases (better). 2 common cases"
    )


def test_without_lines_the_table_says_what_was_counted(emulated, compare):
    """The averages of results.csv are compared if a run lacks lines; with another grid they are only changed."""
    names = ("global_load_sectors",)
    for grids, word in (((8, 8), "better"), ((8, 2), "changed")):
        for name, grid, sectors in zip("AB", grids, (31.5, 4), strict=True):
            rows = [
                compare_runs.timed(n, 9, kernel="k", device="cpu", grid=grid, global_load_sectors=sectors)
                for n in (0, 1)
            ]
            shutil.rmtree(emulated / name)
            compare_runs.write(emulated / name, rows, further=names)
        out = compare.folders("A", "B").out
        assert out.startswith(
            f"B against A: k, global loads: 31.5 -> 4 sectors a request in 2 cases ({word}). 2 common"
        )


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
