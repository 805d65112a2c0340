"""The annotated source: what each line costs and where hazards were found, from a lines.csv written here."""

import io
import shutil
from pathlib import Path

import pytest
import report_runs as runs
from drawing import chosen, words
from rich.console import Console
from shuffle_rows import COLUMNS as ALL_COLUMNS
from shuffle_rows import butterfly

import runner
from runner.display import text
from runner.record.folder import RunFolder
from runner.record.ranking import fastest
from runner.record.run import read
from runner.report import build, print_summary
from runner.report.tables import all_cases, fastest_cases
from runner.stages.lines import costs as lines
from runner.stages.lines.costs import LineCost

SOURCE = """// a tile
#include "helper.cuh"
{blank}__global__ void tile(const float* in, float* out)
{{
    __shared__ float t[32][32];
    t[threadIdx.y][threadIdx.x] = in[threadIdx.x];
    if (threadIdx.x < 5) return;
    out[threadIdx.x * 32] = t[threadIdx.x][threadIdx.y] < 1;
}}
""".format(blank="\n" * 40)
STORE, LOAD, RETURN = 48, 46, 47  # line numbers

RACE = "tile.cu:48: race (read after write): shared 't' element 3, also written at tile.cu:46 by thread (0,0,0); block (0,0,0)"


def costs(wavefronts):
    """What the lines of the tile cost."""
    return [
        LineCost("tile.cu", LOAD, "global", "load", 3, 96, 32.0, 128.0, 4.0, 4.0),
        LineCost("tile.cu", LOAD, "shared", "store", 3, 96, 32.0, 128.0, None, None, 1.0, 1.0),
        LineCost("tile.cu", RETURN, "", "branch", 3, 96, 32.0, divergent_branches=24),
        LineCost("tile.cu", STORE, "global", "store", 3, 96, 27.0, 108.0, 27.0, 4.0),
        LineCost("tile.cu", STORE, "shared", "load", 3, 96, 27.0, 108.0, None, None, wavefronts, 1.0),
        LineCost("helper.cuh", 2, "global", "load", 3, 6, 1.0, 4.0, 1.0, 1.0),
    ]


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    """The report of two ways in which a tile is read, of a race in it, and of a kernel whose lines were not counted."""
    folder = tmp_path_factory.mktemp("lines") / "03-04-05-tile"
    rows = [runs.row(n, kernel="tile", block=b) | runs.timing(10 + n, 2**24) for n, b in enumerate((32, 64, 128))]
    rows += [runs.failed(3, "hazard", RACE, kernel="tile", device="checked", block=256), runs.row(4, kernel="other")]
    runs.write(folder, rows)
    (folder / "sources" / "tile.cu").write_text(SOURCE)
    (folder / "sources" / "helper.cuh").write_text("// <help>\nfloat help = *pointer;\n")
    for number, wavefronts in enumerate((27.0, 27.0, 1.0)):
        (folder / str(number)).mkdir()
        lines.keep(RunFolder(folder), number, rows[number]["case"], "tile", costs(wavefronts))
    lines.write(RunFolder(folder))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("runner.report.figures.choose", lambda *_: [])
        return build(folder)


def shown(opened, selector):
    """The texts of what can be seen."""
    return [element.inner_text() for element in opened.locator(selector).all() if element.is_visible()]


def test_the_table_of_lines_is_read_as_it_was_written(page):
    """lines.csv gives back every number, and what is empty."""
    frame = runner.open(page.parent).lines
    assert (len(frame), frame["sectors"].max(), frame["divergent_branches"].sum()) == (18, 27, 72)
    found = lines.read(RunFolder(page.parent))
    assert list(found) == ["00000000", "00000001", "00000002"]
    assert found["00000002"] == costs(1.0)
    assert lines.averages(found["00000000"]) == {
        "shared_load_wavefronts": 27, "shared_store_wavefronts": 1,
        "global_load_sectors": round((96 * 4 + 6) / 102, 6), "global_store_sectors": 27,
    }  # fmt: skip


def test_each_line_has_its_costs_and_the_worst_is_marked(page, open_page):
    """Actual and ideal, lanes and bytes; the worst line of its kernel; on demand all lines, long stretches folded."""
    opened = open_page(page, "#lines")
    assert "float t[32][32]" not in opened.locator("#lines").inner_text()
    opened.locator("#lines .every").first.check()
    row = opened.locator(f"#lines tr[data-line='{STORE}']")
    assert "27 / 4 sectors" in row.inner_text()
    assert "27 / 1 wavefronts" in row.inner_text()
    assert row.locator(".sign").count() >= 2
    assert "24 of 96 branches" in opened.locator(f"#lines tr[data-line='{RETURN}']").inner_text()
    assert "worst" not in opened.locator(f"#lines tr[data-line='{LOAD}'] .cost").first.get_attribute("class")
    assert [text for text in shown(opened, "#lines .fold") if text.split()[0] == "41"]
    assert "float help = *pointer" in opened.locator("#lines").inner_text()
    assert "other" not in "".join(shown(opened, "#lines h3"))
    assert not opened.wrong


def test_a_hazard_stands_at_both_of_its_lines(page, open_page):
    """Each of the two lines tells the race and leads to the other."""
    opened = open_page(page)
    for line, other in ((STORE, LOAD), (LOAD, STORE)):
        hazard = opened.locator(f"#lines tr[data-line='{line}'] p.hazard")
        assert "race" in hazard.inner_text()
        hazard.locator("a").click()
        assert opened.url.endswith(f"-{other}")
        assert opened.locator(f"#lines tr[data-line='{other}']").is_visible()


def test_the_reader_chooses_the_cases_and_filters_the_lines(page, open_page):
    """Cases with equal costs are one choice; the filter asks the costs of the chosen ones, and folds nothing."""
    opened = open_page(page)
    choice = opened.locator("#lines select").first
    assert choice.locator("option").count() == 2
    choice.select_option("1")
    assert "1 / 1 wavefront" in opened.locator(f"#lines tr[data-line='{STORE}']").inner_text()
    opened.fill("#line-filter", "wavefronts>4")
    assert shown(opened, "#lines tr[data-line]") == []
    opened.fill("#line-filter", "")
    choice.select_option("0")
    opened.fill("#line-filter", "wavefronts>4")
    assert len(shown(opened, "#lines tr[data-line]")) == 1
    opened.fill("#line-filter", "kind=branch")
    assert "if (threadIdx.x < 5)" in "".join(shown(opened, "#lines tr[data-line]"))
    assert shown(opened, "#lines .fold") == []
    assert not opened.wrong


@pytest.mark.usefixtures("without_figures")
def test_only_a_kernel_with_several_cases_says_which_was_counted(page, tmp_path):
    """If a kernel has one case, its name is the heading and is not repeated below it."""
    folder = tmp_path / "03-04-05-tile"
    runs.write(folder, [row := runs.row(0, kernel="tile") | runs.timing(10, 2**24), runs.row(1, kernel="other")])
    (folder / "sources" / "tile.cu").write_text(SOURCE)
    (folder / "0").mkdir()
    lines.keep(RunFolder(folder), 0, row["case"], "tile", costs(1.0))
    lines.write(RunFolder(folder))
    alone = build(folder).read_text("utf-8")
    assert 'class="listing"' in alone
    assert "Counted for" not in alone
    assert "Counted for" in page.read_text("utf-8")


def test_a_phone_shows_the_whole_source(page, open_page):
    """At 390 pixels nothing is cut off at the side, and a line's costs stand below it."""
    opened = open_page(page, "#lines", viewport={"width": 390, "height": 800})
    assert opened.evaluate("document.documentElement.scrollWidth") <= 390
    row = opened.locator(f"#lines tr[data-line='{STORE}']")
    code, cost = (row.locator(what).first.bounding_box() for what in ("code", ".cost"))
    assert cost["y"] >= code["y"] + code["height"] - 2


def test_a_printed_page_has_the_sources(page, open_page):
    """Costs and code are on paper; the filter is not."""
    opened = open_page(page)
    opened.emulate_media(media="print")
    assert opened.locator(f"#lines tr[data-line='{STORE}'] .cost").first.is_visible()
    assert not opened.locator("#line-filter").is_visible()


def row(number, kernel, shared, sectors, **given):
    """A case with its wavefronts and sectors."""
    names = ("shared_load_wavefronts", "shared_store_wavefronts", "global_load_sectors", "global_store_sectors")
    return runs.row(number, kernel=kernel, **dict(zip(names, (*shared, *sectors), strict=True)), **given) | runs.timing(
        9 + number, 2**24
    )


def transposes():
    """Three kernels; the first uses no shared memory."""
    return [
        row(0, "transposeGmem", ("", ""), (4, 32)),
        row(1, "transposeSmem", (32, 1), (4, 4)),
        row(2, "transposeSmemPad", (1, 1.5), (4, 4)),
    ]


def test_pairs_are_loads_and_stores():
    """What a kernel does not do is a dash, what it has none of is empty."""
    told = [text.costs(given) for given in transposes()]
    assert told == ["global 4/32", "shared 32/1, global 4/4", "shared 1/1.5, global 4/4"]
    assert text.cost_pair({"global_load_sectors": float("nan"), "global_store_sectors": 4.0}, "sectors ld/st") == "–/4"  # noqa: RUF001
    assert text.costs({}) == ""


def test_they_stand_in_the_bars_labels_with_their_meaning(run_folder):
    """A bar's label has them behind the time, and the notes say what they are."""
    (plot,) = chosen(run_folder(transposes(), columns=ALL_COLUMNS))
    assert any(text.endswith("shared 32/1, global 4/4") for text in words(plot))
    assert "wavefronts of a warp's request" in plot.caption


def test_they_stand_in_the_tables(run_folder):
    """The table of all cases has a column a pair; that of the fastest only where the fastest differ."""
    rows = [*transposes(), row(3, "transposeSmem", (2, 2), (4, 4), size=2**20)]
    run = read(run_folder(rows, columns=ALL_COLUMNS))
    table = all_cases(run, {})
    place = table.columns.index("wavefronts ld/st")
    assert [line.cells[place].text for line in table.lines] == ["", "32/1", "1/1.5", "2/2"]
    best = fastest_cases(run, fastest(run))
    assert [name for name in best.columns if "ld/st" in name] == ["wavefronts ld/st", "sectors ld/st"]


def test_they_stand_beside_the_time_in_the_terminal(run_folder):
    """The listing has them between time and launch, and one line below says what they are."""
    stream = io.StringIO()
    print_summary(run_folder(transposes(), columns=ALL_COLUMNS), Console(file=stream, width=200, force_terminal=False))
    lines = [" ".join(line.split()) for line in stream.getvalue().splitlines()]
    assert any("transposeSmem : 10.00 µs shared 32/1, global 4/4 gpu sum" in line for line in lines)
    assert sum("32-byte sectors" in line for line in lines) == 1


def test_wavefronts_stand_beside_the_time_by_stride(run_folder):
    """A sweep of a kernel's own parameter that changes the wavefronts has a panel for each of the two."""
    rows = [row(n, "bankAccess", (2**n, 1), ("", 4), stride=2**n, family="bank") | {"size": ""} for n in range(6)]
    folder = run_folder(rows, columns=ALL_COLUMNS)
    (plot,) = chosen(folder)
    assert (plot.stem, plot.y) == ("time-by-stride", "median_us")
    assert [(panel.title, panel.y) for panel in plot.panels] == [
        ("time", ""),
        ("wavefronts of a shared load", "shared_load_wavefronts"),
    ]
    assert {"time", "wavefronts of a shared load", "bankAccess"} <= set(words(plot))
    assert "shared_load_wavefronts" in build(folder).read_text("utf-8")  # the page's chart has them, too


def test_a_cache_that_nobody_asked_for_is_not_mentioned(run_folder):
    """`cache` is told only where some case has another value than none."""
    rows = transposes()
    for given in rows:
        given["cache"] = "none"
    folder = run_folder(rows, "quiet", columns=ALL_COLUMNS)
    assert "cache" not in (*read(folder).constant, *read(folder).varying)
    assert "cache none" not in build(folder).read_text("utf-8")
    rows[0]["cache"] = "l1"
    assert "cache" in read(run_folder(rows, "asked", columns=ALL_COLUMNS)).varying
    assert "cache none" not in build(run_folder(butterfly(), "lanes", columns=ALL_COLUMNS)).read_text("utf-8")


@pytest.mark.parametrize("table", sorted((Path(__file__).parent / "old").glob("*.csv")), ids=lambda p: p.stem)
def test_folders_of_older_versions_still_build(tmp_path, table):
    """Tables of the first version, made before these columns were, have their page, and figures of measured times."""
    shutil.copy(table, tmp_path / "results.csv")
    assert ("<figure" in build(tmp_path).read_text("utf-8")) == ("cuda" in table.read_text("utf-8"))
