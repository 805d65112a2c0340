"""Several runs beside a baseline: the matrix, and the runs that are named and left out."""

import fcntl
import re

import compare_runs
import pytest
from compare_runs import ENVIRONMENT, WILD, failed, timed, write
from terminals import runner, screen, widest

A = [*(timed(n, 100, block=32 + 32 * n) for n in range(6)), failed(6, block=224)]
B = [
    timed(0, 80, block=32), timed(1, 110, block=64), timed(2, 100, block=96), timed(3, 103, WILD, block=128),
    failed(4, reason="3 elements differ", block=160), timed(6, 100, block=224),
]  # fmt: skip
C = [*(timed(n, 100, block=32 + 32 * n) for n in range(5)), failed(5, "skipped", "too wide", block=192)]
WORDS = {
    "32": ["1.25x faster", "1.00x tied"], "64": ["1.10x slower", "1.00x tied"], "96": ["1.00x tied", "1.00x tied"],
    "128": ["1.03x undecided", "1.00x tied"], "160": ["failed", "1.00x tied"], "192": ["not run", "not run"],
    "224": ["fixed", "not run"],
}  # fmt: skip
PHONE = {"width": 390, "height": 844}


def table(out):
    """The lines of the matrix in the terminal, by their first cell."""
    lines = [re.split(r"  +", line.strip()) for line in out.splitlines()]
    return {line[1]: line[2:] for line in lines if line[0] == "reduceShfl"}


def test_several_runs_are_a_matrix(compare):
    """Each case has one line: the baseline's time, then for each run the ratio and its word; the worst comes first."""
    result = compare(A, B, C)
    assert table(result.out) == {
        block: ["mismatch" if block == "224" else "100.0 µs", *words] for block, words in WORDS.items()
    }
    assert list(table(result.out))[:2] == ["160", "64"]
    assert result.out.startswith(
        "2 runs against A, 7 cases. BROKEN (failed now): 1 in B. Slower: 1 in B. Faster: 1 in B."
    )
    assert result.code == 1
    assert {row["run"] for row in result.rows} == {"B", "C"}


def test_a_narrow_terminal_names_the_runs_that_it_leaves_out(compare, tmp_path):
    """At 80 columns the matrix has the runs that fit, and a sentence names the others; a pipe has all."""
    result = compare(A, B, A, B, A, B)
    assert "would not fit" not in result.out
    assert [len(cells) for cells in table(result.out).values()] == [6] * 7
    shown = runner(tmp_path, "compare", *"ABCDEF", columns=80)
    assert shown.end() == 1
    lines = screen(shown.output)
    cells = table("\n".join(lines))["64"]
    named = next(line for line in lines if "would not fit into 80 columns" in line)
    assert named.startswith(("D, E and F", "E and F", "F"))
    assert len(cells) + len(re.findall(r"\b[D-F]\b", named)) == 6
    assert widest(lines) <= 80


@pytest.mark.browser
def test_the_page_of_several_runs_leads_with_the_matrix(page, open_page, tmp_path):
    """Its cells are coloured, have the interval as a tip, and are filtered; what differs between two runs is folded."""
    page(A, B, C)
    seen = open_page(tmp_path / "result.html", viewport={"width": 1400, "height": 900})
    rows = [[cell.strip() for cell in row.split("\t")] for row in seen.locator(".matrix tbody tr").all_inner_texts()]
    assert {row[1]: row[3:] for row in rows} == WORDS
    colours = [
        seen.get_by_text(words, exact=True).first.evaluate("(cell) => getComputedStyle(cell).color")
        for words in ("failed", "1.25x faster", "1.00x tied")
    ]
    assert len(set(colours)) == 3
    tip = seen.locator(".matrix").get_by_text("1.10x slower").get_attribute("title")
    assert re.match(r"100.0 to 110.0 µs; \+10.0 % \(\+\d+\.\d to \+\d+\.\d\)", tip)
    assert seen.locator("details.pair").count() == 2
    assert not seen.locator("details.pair table").first.is_visible()
    seen.locator("#filter").fill("slower block=64")
    assert seen.locator(".matrix tbody tr:visible").count() == 1


@pytest.mark.browser
def test_a_phone_says_that_there_is_more_and_breaks_no_date(compare, open_page, tmp_path):
    """At 390 pixels the page is no wider, what is cut says so, and a run's date and time stay whole."""
    names = [f"2026-11-2{n}/00-00-00" for n in range(3)]
    for name, rows in zip(names, (A, B, C), strict=True):
        write(tmp_path / "outputs" / name, rows)
    compare.folders(*(f"outputs/{name}" for name in names), "--html", "many.html")
    seen = open_page(tmp_path / "many.html", viewport=PHONE)
    assert seen.evaluate("document.documentElement.scrollWidth") <= 390
    pieces = seen.locator("h1 .run, .verdict .run")
    lines = "(all) => all.map((one) => one.getBoundingClientRect().height / parseFloat(getComputedStyle(one).fontSize))"
    assert pieces.count() >= 6
    assert max(pieces.evaluate_all(lines)) < 2
    hint = "getComputedStyle(document.querySelector('#figure-speed .wide'), '::before').content"
    assert "scroll sideways" in seen.evaluate(hint)
    seen.set_viewport_size({"width": 1400, "height": 900})
    assert seen.evaluate(hint) == "none"


@pytest.fixture
def outputs(tmp_path, compare):
    """Two runs with common cases, one of another kernel, and folders that cannot be read."""
    del compare  # changes into the folder
    for n, rows in enumerate(([timed(0, 100)], [timed(0, 100)], [timed(7, 100, kernel="copyGmem", block=64)])):
        write(tmp_path / "outputs" / "day" / f"{n}", rows, given=ENVIRONMENT)
    for name in ("begun", "torn", "running"):
        (tmp_path / "outputs" / "day" / name).mkdir()
    (tmp_path / "outputs" / "day" / "begun" / "plan.json").write_text("{}")
    (tmp_path / "outputs" / "day" / "torn" / "results.csv").write_text("a,b\n1,2\n")
    compare_runs.write(tmp_path / "elsewhere", [timed(0, 100)])
    (tmp_path / "outputs" / "day" / "running").rmdir()
    (tmp_path / "elsewhere").rename(tmp_path / "outputs" / "day" / "running")
    with (tmp_path / "outputs" / "day" / "running" / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield tmp_path / "outputs" / "day"


def test_what_cannot_be_compared_is_named_and_left_out(outputs, compare, tmp_path):
    """Of a pattern, runs of other cases, unreadable folders and running sweeps; only --strict minds."""
    result = compare.folders("outputs/*/*", "--html", "page.html")
    assert (result.code, [(row["run"], row["word"]) for row in result.rows]) == (0, [("1", "same")])
    said = [line for line in result.out.splitlines() if line.startswith("Left out: ")]
    assert {line.split(":")[1].strip() for line in said} == {"2", "begun", "torn", "running"}
    assert "Left out: 2: no case in common with 0." in said
    assert "Left out: running: a sweep is running there." in said
    text = re.sub("<[^>]*>", "", (tmp_path / "page.html").read_text("utf-8"))
    assert all(line in text for line in said)
    assert compare.folders("outputs/*/*", "--strict").code == 3
    assert compare.folders("outputs/day/0", "outputs/day/1", str(outputs / "torn")).code == 2


def test_a_baseline_that_nobody_chose_and_that_shares_nothing_gets_advice(outputs, compare):
    """If the pattern's first run has no case in common with the others, the error names a baseline that has."""
    for old, new in (("0", "5"), ("1", "6")):
        (outputs / old).rename(outputs / new)
    result = compare.folders("outputs/day/[0-9]*")
    assert (result.code, result.out) == (2, "")
    assert "the baseline 2, which is the first that matches" in result.err
    advised = re.search(r"--baseline \S+", result.err)[0].split()
    again = compare.folders("outputs/day/[0-9]*", *advised)
    assert (again.code, len(again.rows)) == (0, 1)
    assert compare.folders("outputs/day/[0-9]*", "--baseline", "outputs/day/2").code == 2
