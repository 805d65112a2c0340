import io
import shutil
from pathlib import Path

import pytest
import report_runs as runs
from drawing import chosen, words
from rich.console import Console
from shuffle_rows import COLUMNS, butterfly

from runner.display.text import cost_pair, costs
from runner.record.ranking import fastest
from runner.record.run import read
from runner.report import build, print_summary
from runner.report.tables import all_cases, fastest_cases


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
    told = [costs(given) for given in transposes()]
    assert told == ["global 4/32", "shared 32/1, global 4/4", "shared 1/1.5, global 4/4"]
    assert cost_pair({"global_load_sectors": float("nan"), "global_store_sectors": 4.0}, "sectors ld/st") == "–/4"  # noqa: RUF001
    assert costs({}) == ""


def test_they_stand_in_the_bars_labels_with_their_meaning(run_folder):
    """A bar's label has them behind the time, and the notes say what they are."""
    (plot,) = chosen(run_folder(transposes(), columns=COLUMNS))
    assert any(text.endswith("shared 32/1, global 4/4") for text in words(plot))
    assert "wavefronts of a warp's request" in plot.caption


def test_they_stand_in_the_tables(run_folder):
    """The table of all cases has a column a pair; that of the fastest only where the fastest differ."""
    rows = [*transposes(), row(3, "transposeSmem", (2, 2), (4, 4), size=2**20)]
    run = read(run_folder(rows, columns=COLUMNS))
    table = all_cases(run, {})
    place = table.columns.index("wavefronts ld/st")
    assert [line.cells[place].text for line in table.lines] == ["", "32/1", "1/1.5", "2/2"]
    best = fastest_cases(run, fastest(run))
    assert [name for name in best.columns if "ld/st" in name] == ["wavefronts ld/st", "sectors ld/st"]


def test_they_stand_beside_the_time_in_the_terminal(run_folder):
    """The listing has them between time and launch, and one line below says what they are."""
    stream = io.StringIO()
    print_summary(run_folder(transposes(), columns=COLUMNS), Console(file=stream, width=200, force_terminal=False))
    lines = [" ".join(line.split()) for line in stream.getvalue().splitlines()]
    assert any("transposeSmem : 10.00 µs shared 32/1, global 4/4 gpu sum" in line for line in lines)
    assert sum("32-byte sectors" in line for line in lines) == 1


def test_wavefronts_stand_beside_the_time_by_stride(run_folder):
    """A sweep of a kernel's own parameter that changes the wavefronts has a panel for each of the two."""
    rows = [row(n, "bankAccess", (2**n, 1), ("", 4), stride=2**n, family="bank") | {"size": ""} for n in range(6)]
    folder = run_folder(rows, columns=COLUMNS)
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
    folder = run_folder(rows, "quiet", columns=COLUMNS)
    assert "cache" not in (*read(folder).constant, *read(folder).varying)
    assert "cache none" not in build(folder).read_text("utf-8")
    rows[0]["cache"] = "l1"
    assert "cache" in read(run_folder(rows, "asked", columns=COLUMNS)).varying
    assert "cache none" not in build(run_folder(butterfly(), "lanes", columns=COLUMNS)).read_text("utf-8")


@pytest.mark.parametrize("table", sorted((Path(__file__).parent / "old").glob("*.csv")), ids=lambda p: p.stem)
def test_folders_of_older_versions_still_build(tmp_path, table):
    """Tables of the first version, made before these columns were, have their page, and figures of measured times."""
    shutil.copy(table, tmp_path / "results.csv")
    assert ("<figure" in build(tmp_path).read_text("utf-8")) == ("cuda" in table.read_text("utf-8"))
