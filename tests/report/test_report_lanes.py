import re
import xml.etree.ElementTree as ET

import pytest
import report_runs as runs
from shuffle_rows import COLUMNS, butterfly, shuffle, tour

from runner.report import build, draw_lanes
from runner.report.figures.choose import choose
from runner.report.figures.lanes.choice import LanePlot, lane_plots, remarks, stacked
from runner.report.figures.lanes.layout import lay, side
from runner.report.figures.lanes.legend import legend
from runner.report.figures.lanes.marks import marks, numbers
from runner.report.figures.lanes.steps import read
from runner.report.table import load


def laid(row):
    """The layout of a row's step, at the origin."""
    step = read(row)
    return lay(step, side((step,)), tuple(remarks(step)), 0.0)


def looks(row):
    """How often each look is drawn."""
    drawn = [mark.look for mark in marks(laid(row), 0.0, 0.0)]
    return {look: drawn.count(look) for look in drawn}


def words(svg):
    """The texts of a figure; matplotlib leaves each as a comment beside its letters."""
    return b" ".join(re.findall(rb"<!-- (.*?) -->", svg, re.DOTALL)).decode()


def test_the_picture_shows_the_measured_map(run_folder):
    """What each lower square says is what was measured, also where the rule says something else."""
    row = shuffle(argument=2, spoil={5: 9, 6: "?"})
    told = [number.text for number in numbers(laid(row), 0.0, 0.0)][1::2]
    assert told[:8] == ["2", "3", "4", "5", "6", "9", "×", "9"]  # noqa: RUF001 - the sign of the picture
    assert remarks(read(row)) == ["2 elements differ from CUDA's rule: element 5 holds element 9, not element 7"]
    assert looks(row)["wrong"] == 2
    assert looks(row)["red"] == 1  # the other one has no source to start from
    assert "differ from CUDA's rule" in words(draw_lanes([row]))


def test_a_right_map_has_no_red():
    """A map that follows the rule has arrows in the segment's look, and dotted lines where lanes keep their own."""
    assert looks(shuffle(argument=2)) == {"square": 64, "0": 30, "0 head": 30, "own": 2}
    assert remarks(read(shuffle())) == []


def test_segments_have_a_look_each():
    """Lanes of different segments are drawn apart: another look and a gap."""
    row = shuffle(operation="up", argument=1, width=8)
    assert {look for look in looks(row) if look.isdecimal()} == {"0", "1", "2", "3"}
    squares = laid(row).lines[0].squares
    assert squares[8].x - squares[7].x > squares[7].x - squares[6].x


@pytest.mark.parametrize("undefined", ["?", "0"])
def test_undefined_reads_are_marked_whatever_the_device_gave(undefined):
    """A read of a lane outside the mask is dashed and a question mark, even where the device returned a number."""
    row = shuffle(argument=4, mask=0x000FFFFF, undefined=undefined)
    assert looks(row)["undefined"] == 4
    assert looks(row)["asked"] == 4
    assert [number.text for number in numbers(laid(row), 0.0, 0.0)].count("?") == 4
    assert remarks(read(row)) == ["undefined: 4 lanes asked for a lane outside the mask"]
    assert "undefined" in words(draw_lanes([row]))


def test_lanes_outside_the_mask_are_hatched_in_both_rows():
    """Sixteen lanes that do not take part are 32 hatched squares without arrows."""
    drawn = looks(shuffle(operation="up", argument=1, mask=0xFFFF))
    assert (drawn["idle"], drawn["0"], drawn["own"]) == (32, 15, 1)


def test_a_lane_outside_the_mask_that_changed_is_wrong():
    """It should have kept its value; above it is hatched all the same."""
    drawn = looks(shuffle(operation="up", argument=1, mask=0xFFFF, spoil={20: 3}))
    assert (drawn["idle"], drawn["wrong"]) == (31, 1)


def test_a_block_smaller_than_a_warp_has_only_its_lanes():
    """Lanes that are not there are not drawn, and asking for them is undefined."""
    row = shuffle(argument=8, block=16)
    assert len(laid(row).lines[0].squares) == 16
    assert remarks(read(row)) == ["undefined: 8 lanes asked for a lane that the block does not have"]


def test_a_lane_beyond_the_last_element_is_no_error():
    """What it holds is no element of the input, and neither wrong nor undefined."""
    row = shuffle(argument=2, size=20, spoil={18: "?", 19: "?"})
    assert remarks(read(row)) == ["2 lanes received the 0 of a lane beyond the last element"]


def test_arrays_are_framed_and_numbered_by_element():
    """Four elements a lane: a frame around each lane's, the numbers run through the block."""
    row = tour()[-1]
    assert [number.text for number in numbers(laid(row), 0.0, 0.0)][
        1::2
    ] == "7 1 2 3 4 5 6 0 15 9 10 11 12 13 14 8".split()
    assert looks(row)["thread"] == 8
    assert "lane 3" in words(draw_lanes([row]))


def test_each_warp_has_a_line():
    """Two warps are two lines with lane numbers of their own; further ones that look the same are said, not drawn."""
    layout = laid(shuffle(argument=1, block=64))
    assert [len(line.squares) for line in layout.lines] == [32, 32]
    assert [number.text for number in numbers(layout, 0.0, 0.0)][64:68] == ["0", "1", "1", "2"]
    four = laid(shuffle(argument=1, block=256, size=256))
    assert len(four.lines) == 2
    assert four.remarks == ("Warps 2 and 3 look the same. Measured: the first 128 elements of the block's 256.",)
    assert len(laid(shuffle(argument=1, block=128, spoil={100: 3})).lines) == 4


def test_the_legend_tells_only_what_is_drawn():
    """A butterfly needs no word on hatching, undefined reads or red."""
    plot = stacked(butterfly())
    assert len(legend(plot, [laid(row) for row in butterfly()])) == 2
    odd = [shuffle(argument=4, mask=0x0FFFFFFF, spoil={3: 1})]
    told = " ".join(legend(stacked(odd), [laid(odd[0])]))
    assert all(word in told for word in ("Hatched", "Dashed crimson", "Thick red"))


def test_kernels_of_several_cases_have_a_figure_each(run_folder):
    """Two butterflies are two figures, their steps in the order of the run."""
    rows = butterfly() + [shuffle(5 + n, "down", 16 >> n) for n in range(5)]
    plots = choose(load(run_folder(rows, columns=COLUMNS)))
    assert [plot.stem for plot in plots] == ["lanes-shflXor", "lanes-shflDown"]
    assert [step.name for step in plots[0].steps] == ["xor 16", "xor 8", "xor 4", "xor 2", "xor 1"]
    assert plots[0].title == "shflXor: which lane's register each lane received (measured, GPU)"


def test_kernels_of_one_case_share_a_figure(run_folder):
    """The tour of all shuffles is one figure, one kernel a step, wrap twice, and nothing else is drawn."""
    (plot,) = choose(load(run_folder(tour(), columns=COLUMNS)))
    assert (plot.stem, len(plot.steps), plot.tour) == ("lanes", 8, True)
    assert {"block", "per_thread"} <= set(plot.differing)


def test_devices_never_share_a_figure(run_folder):
    """The same cases on both devices are two figures."""
    rows = butterfly() + [{**row, "device": "cpu"} for row in butterfly()]
    titles = [plot.title for plot in lane_plots(load(run_folder(rows, columns=COLUMNS)))]
    assert [title.partition("(")[2] for title in titles] == ["measured, GPU)", "measured, CPU device)"]


def test_of_many_cases_the_distinct_ones_are_drawn(run_folder):
    """At most eight steps, none twice, those that break the rule among them, and the rest is counted."""
    rows = [shuffle(n, "down", n % 16, dtype=dtype) for dtype in ("int32", "float32") for n in range(16)]
    rows[13] = shuffle(13, "down", 13, spoil={1: 1}, status="mismatch", reason="wrong")
    (plot,) = lane_plots(load(run_folder(rows, columns=COLUMNS)))
    names = [step.name for step in plot.steps]
    assert len(names) == len(set(names)) == 8
    assert "down 13" in names
    assert "Drawn: 8 of 32 cases; 15 cases moved the same as another." in plot.notes


def test_rows_that_are_not_ok_are_drawn(run_folder):
    """A mismatch has its picture, with the status beside its name, and no time."""
    rows = [shuffle(0, status="mismatch", reason="wrong", spoil={0: 7})]
    plots = choose(load(run_folder(rows, columns=COLUMNS)))
    assert [plot.stem for plot in plots] == ["lanes-shflDown"]
    assert "mismatch" in words(draw_lanes(rows))


def test_a_map_that_cannot_be_understood_is_passed_over(run_folder):
    """Torn, hostile and missing cells are no obstacle."""
    for broken in (
        {"received": ""}, {"shuffle": ""}, {"shuffle": "down"}, {"shuffle": "spin 2"}, {"shuffle": f"down {10**30}"},
        {"block": "x"}, {"block": "99999999"}, {"width": 5}, {"mask": "0xfffffffff"}, {"per_thread": -1},
    ):  # fmt: skip
        assert read({**shuffle(), **broken}) is None
    assert read({**shuffle(), "received": "<b> \x1b -1 5"}).elements[3].got == 5
    with pytest.raises(ValueError, match="none of the rows"):
        draw_lanes([runs.row()])


def test_plain_rows_are_drawn_without_a_folder():
    """Text as csv.DictReader gives it makes the same bytes as typed rows, twice over, and a title of one's own."""
    typed = tour()
    text = [{name: str(value) for name, value in row.items()} for row in typed]
    assert draw_lanes(text) == draw_lanes(typed) == draw_lanes(text)
    svg = draw_lanes(typed, "Seven shuffles")
    assert "Seven shuffles" in words(svg)
    assert ET.fromstring(svg).tag.endswith("svg")  # noqa: S314 - we wrote it
    assert len(svg) < 200_000


def test_a_folder_gives_the_same_pictures_twice(run_folder):
    """Lane pictures stand first on the page, and building again changes no byte."""
    rows = [*butterfly(), *(runs.row(9 + n, kernel=f"k{n}", size=32) | runs.timing(9, 32) for n in range(2))]
    folder = run_folder(rows, columns=COLUMNS)
    page = build(folder).read_text("utf-8")
    figures = re.findall(r'id="figure-([^"]+)"', page)
    assert "lanes-shflXor" in figures
    assert any("time" in stem for stem in figures)
    before = {path.name: path.read_bytes() for path in (folder / "figures").iterdir()}
    assert build(folder).read_text("utf-8") == page
    assert before == {path.name: path.read_bytes() for path in (folder / "figures").iterdir()}


def test_single_blocks_have_no_time_figure_unless_nothing_else_is_drawn(run_folder):
    """Where the maps could not be measured, the times are all there is."""
    rows = [{**row, "received": ""} for row in butterfly()]
    frame = load(run_folder([*rows, {**shuffle(7, "up", 1), "received": ""}], columns=COLUMNS))
    assert [plot.stem for plot in choose(frame)] == ["time-by-kernel"]
    assert not any(isinstance(plot, LanePlot) for plot in choose(frame))
