"""docs/ladder.md: current, and what it says follows from the sweeps."""

import json
import re
import subprocess
import sys

import pytest
from support import ROOT, shipped

sys.path.insert(0, str(ROOT / "tools"))

import ladder_page
from kernel_page import header
from kernel_page.sections import prose
from ladder import limits, text
from ladder.steps import LADDERS, Step, best, climbed, defined, read
from ladder_rows import COPY_GBPS, EMPTY_US, SIZES, SLOWER, write

STEPS = {ladder: [n for n in defined(ladder, ROOT / "conf")[0] if n not in ladder.copies] for ladder in LADDERS}
GAINS = {"reduceGridStride": 0.99, "reduceBulk": 1.0, "reduceVector": 1.3}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Sweeps in which a step gains 10 %, but for those of `GAINS`."""
    made = tmp_path_factory.mktemp("ladder")
    write(made, GAINS)
    return made


@pytest.fixture(scope="module")
def page(folder):
    """The page of these sweeps."""
    return ladder_page.made(folder=folder)


@pytest.mark.skipif(not (ROOT / ladder_page.FOLDER).is_dir(), reason="the ladders were not measured yet")
def test_the_page_is_what_the_command_would_write():
    """Nobody has changed a sweep, a kernel's header or the page without the others."""
    assert ladder_page.PAGE.read_text(encoding="utf-8") == ladder_page.made(), "run 'python tools/ladder_page.py'"


def test_every_step_is_told(page):
    """Each step has a section with what is new in it, what it gained and why, in the order of its experiment."""
    sections = dict(re.findall(r"^### (\w+)\n(.*?)(?=^###? |\Z)", page, re.MULTILINE | re.DOTALL))
    assert list(sections) == [name for names in STEPS.values() for name in names]
    for name, section in sections.items():
        assert prose(header.read(shipped(name).source).new, shipped(name)) in section
        assert re.search(r"\*\*What it gained:\*\* \S.*\n\n\*\*Why:\*\* [A-Z0-9].{20,}", section), name


def test_a_step_that_gains_nowhere_did_not_pay(page):
    """What is slower or level at every size is told so; what gains 1 % somewhere is not."""
    told = dict(re.findall(r"^### (\w+)\n.*?\*\*What it gained:\*\* (.*?)\n", page, re.MULTILINE | re.DOTALL))
    assert {name for name, gained in told.items() if "did not pay" in gained} == {"reduceGridStride", "reduceBulk"}
    assert told["reduceGmem"] == "nothing, it is the first step."
    assert re.match(
        r"int32: 1\.\d\d\d times as fast at 2\^20, 1\.300 times as fast at 2\^30; float32: ", told["reduceVector"]
    )
    assert "slower at 2^20 (0.9" in told["reduceGridStride"] or "level at 2^20 (0.99" in told["reduceGridStride"]
    assert told["reduceBulk"].endswith("level at 2^20 (1.000), level at 2^30 (1.000).")
    assert told["reduceLastBlock"].endswith(
        "It does more than reduceGridStride, which leaves partial sums to the host."
    )


@pytest.mark.parametrize(
    ("gain", "told"), [(1.01, "1.010 times as fast"), (1.009, "level"), (0.992, "level"), (0.99, "slower")]
)
def test_one_percent_decides(gain, told):
    """Less than that in either direction is what repeating a sweep may change."""
    step = Step("a", {"median_us": 1.0, "finish": "host"}, {"median_us": gain, "finish": "host"})
    gained = text.gained({("int32", "2^20"): step})
    assert told in gained
    assert ("did not pay" in gained) == (gain < 1.01)
    level = Step("a", {"median_us": 1.0, "finish": "host"}, {"median_us": 1.0, "finish": "host"})
    elsewhere = text.gained({("int32", "2^20"): step, ("float32", "2^28"): level})
    assert ("did not pay" in elsewhere) == (gain < 1.01)


def test_each_step_is_at_its_own_best(folder, page):
    """Of two configurations the faster one is shown, and the other is nowhere."""
    sweep = read(folder, "reduction-int32")
    row = best(sweep, "reduceInFlight", "2^30")
    slow = next(
        r
        for r in sweep.rows
        if r["kernel"] == "reduceInFlight" and r["size"] == 2**30 and r["median_us"] > row["median_us"]
    )
    assert slow["median_us"] == pytest.approx(SLOWER * row["median_us"])
    assert re.search(
        rf"^\| \[reduceInFlight\]\(#reduceinflight\) \\\* \| block 256, unroll 4 \| {row['median_us']:,.2f} \|",
        page,
        re.MULTILINE,
    )
    assert f"| {slow['median_us']:,.2f} |" not in page


def test_a_step_is_measured_against_the_one_that_its_header_names(folder, page):
    """Where that one has no time, against the one before it; the table says so where it is not the row above."""
    previous = {n: header.read(shipped(n).source).previous for names in STEPS.values() for n in names}
    reductions, transposes, _ = LADDERS
    steps = {s.kernel: s for s in climbed(read(folder, "reduction-int32"), "2^20", STEPS[reductions], previous)}
    assert steps["reduceLastBlock"].against["kernel"] == "reduceGridStride"  # not reduceRedux, which stands above
    assert re.search(r"^\| \[reduceLastBlock\].*\| \d\.\d\d\dx reduceGridStride's \|", page, re.MULTILINE)
    odd = {s.kernel: s for s in climbed(read(folder, "transpose"), "4097x4095", STEPS[transposes], previous)}
    assert "transposeVector" not in odd
    assert odd["transposeShifted"].against["kernel"] == "transposeSwizzle"
    assert odd["transposeGmem"].against is None
    assert re.search(r"Without a time at this size: transposeVector \(skipped: each row must begin", page)


def test_a_sum_is_limited_by_reading(folder):
    """The best bandwidth at the largest size, after an empty kernel's time: there the best case is at 100 %."""
    sweep, ladder = read(folder, "reduction-int32"), LADDERS[0]
    fastest = min(row["median_us"] for row in sweep.rows if row["status"] == "ok" and row["size"] == 2**30)
    assert limits.limit(ladder, sweep, "2^30").us == pytest.approx(fastest)
    gbps = (2**32 + 4) / (fastest - EMPTY_US) / 1e3
    assert limits.limit(ladder, sweep, "2^20").us == pytest.approx(EMPTY_US + (2**22 + 4) / gbps / 1e3)


def test_a_transpose_is_limited_by_the_faster_copy(folder, tmp_path):
    """The best case of copyVector, unless the device-to-device copy is faster."""
    sweep, ladder = read(folder, "transpose"), LADDERS[1]
    moved = 2 * 4 * 4096 * 4096
    assert best(sweep, "copyVector", "4096x4096")["median_us"] > moved / COPY_GBPS / 1e3
    assert limits.limit(ladder, sweep, "4096x4096").us == pytest.approx(moved / COPY_GBPS / 1e3)
    write(tmp_path, {"copyGmem": 20.0})
    sweep = read(tmp_path, "transpose")
    told = limits.limit(ladder, sweep, "4096x4096")
    assert told.us == best(sweep, "copyVector", "4096x4096")["median_us"] < moved / COPY_GBPS / 1e3
    assert told.words == "what `copyVector` takes at its best"


def test_a_table_has_a_row_a_step(page):
    """Each size of each sweep has a table: its steps, then the copies; those that leave work to the host are marked."""
    tables = re.findall(
        r"^### (\w+: \w+, \S+)\n\nThe limit is (.*?)\n\n(.*?)(?=^###? |\Z)", page, re.MULTILINE | re.DOTALL
    )
    assert len(tables) == sum(len(sizes) for sizes in SIZES.values())
    title, most, table = tables[0]
    assert title == "Reductions: int32, 2^20"
    assert most.startswith("5.51 us: 3.00 us, which an empty kernel takes, and 4,194,308 bytes at 1,669 GB/s.")
    rows = [line.split(" | ") for line in table.splitlines() if line.startswith("| [")]
    assert [re.search(r"\w+", row[0])[0] for row in rows] == STEPS[LADDERS[0]]
    assert [(r"\*" in row[0]) for row in rows] == [shipped(n).finish == "host" for n in STEPS[LADDERS[0]]]
    assert rows[0][4:8] == ["32", "75", "64", "16/–"]  # noqa: RUF001 - no stores are declared
    assert "leaves partial sums to the host" in table
    assert "copyVector (a copy)" in page


def test_how_it_was_measured_is_told(page):
    """Command, GPU, driver and date of each sweep, from its environment.json."""
    for name in SIZES:
        assert re.search(
            rf"^\| {name} \(.*\| 2026-11-21 \| NVIDIA H200 \| 580.0 \| 13.0 \| `python -m runner of {name}` \|",
            page,
            re.MULTILINE,
        )


def test_links_are_relative_to_the_page(folder, tmp_path):
    """A sweep below docs/ is linked from docs/ on."""
    (tmp_path / "docs" / "h200").mkdir(parents=True)
    (tmp_path / "docs" / "h200" / "ladder").symlink_to(folder)
    (tmp_path / "conf").symlink_to(ROOT / "conf")
    page = ladder_page.made(tmp_path, page=tmp_path / "docs" / "ladder.md")
    assert "[csv](h200/ladder/stencil.csv), [html](h200/ladder/stencil.html)" in page
    assert str(tmp_path) not in page


def test_an_older_table_without_a_column_is_read(folder, tmp_path):
    """What bytes_in_flight would say is empty then."""
    write(tmp_path, {})
    path = tmp_path / "stencil.csv"
    path.write_text(path.read_text().replace("bytes_in_flight", "other"))
    assert best(read(tmp_path, "stencil"), "copyVector", "2^24")["bytes_in_flight"] is None
    assert "copyVector (a copy)" in ladder_page.made(folder=tmp_path)


def test_what_is_missing_is_one_sentence(folder, tmp_path):
    """No folder, no sweep, a torn one, or no reason for a step: what, and the command that mends it."""
    with pytest.raises(
        OSError, match=r"^nowhere: there are no sweeps yet; on a GPU 'sh docs/ladder.sh nowhere' makes them\.$"
    ):
        ladder_page.made(folder=ladder_page.Path("nowhere"))
    write(tmp_path, {})
    (tmp_path / "stencil.json").unlink()
    with pytest.raises(
        ValueError, match=r"stencil: No such file or directory; on a GPU 'sh docs/ladder.sh .* stencil' makes it\.$"
    ):
        ladder_page.made(folder=tmp_path)
    (tmp_path / "stencil.json").write_text("{")
    with pytest.raises(ValueError, match=r"stencil: Expecting .*; on a GPU"):
        ladder_page.made(folder=tmp_path)
    (tmp_path / "why.yaml").write_text(json.dumps({"reduceGmem": "It is first."}))
    with pytest.raises(ValueError, match=r"why\.yaml: there is no reason for reduceSmem$"):
        ladder_page.made(folder=folder, why=tmp_path / "why.yaml")


@pytest.mark.skipif((ROOT / ladder_page.FOLDER).is_dir(), reason="the ladders were measured")
def test_the_check_says_that_there_is_nothing_yet():
    """One sentence and exit status 2, no traceback."""
    command = [sys.executable, "tools/ladder_page.py", "--check"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert (
        done.stderr
        == "docs/h200/ladder: there are no sweeps yet; on a GPU 'sh docs/ladder.sh docs/h200/ladder' makes them.\n"
    )
