import re
import xml.etree.ElementTree as ET

import pytest
import report_runs as runs
from drawing import chosen, table, words
from shuffle_rows import COLUMNS, butterfly, shuffle, tour

from runner.report import build, draw_lanes
from runner.report.figures.lane_steps import read
from runner.report.figures.lanes import STYLES, lines


def looks(*rows):
    """How many boxes and arrows of each look a picture has."""
    svg = draw_lanes(rows).decode()
    boxes = {
        look: path.count("z")
        for path, style in re.findall(r'<path d="([^"]*)" style="([^"]*)"/>', svg)
        for look in STYLES
        if STYLES[look] == style
    }
    groups = re.findall(r'<g fill="none" stroke="[^"]*" style="[^"]*" marker-end="url\(#head-(\w+)\)">(.*?)</g>', svg)
    return boxes | {look: arrows.count("<path") for look, arrows in groups}


def held(row):
    """The numbers of a picture's squares: each element's, and what it received."""
    svg = draw_lanes([row]).decode()
    centred = re.findall(r'text-anchor="middle">([^<]*)<', svg)
    return list(zip(*[iter([text for text in centred if not text.startswith("lane")])] * 2, strict=True))


def test_the_picture_shows_the_measured_map():
    """What each lower square says is what was measured, also where the rule says something else."""
    row = shuffle(argument=2, spoil={5: 9, 6: "?"})
    assert [got for _, got in held(row)][:8] == ["2", "3", "4", "5", "6", "9", "×", "9"]  # noqa: RUF001
    assert read(row).remarks() == ["2 elements differ from CUDA's rule: element 5 holds element 9, not element 7"]
    assert (looks(row)["wrong"], looks(row)["red"]) == (2, 1)  # one of them has no source to start from
    assert any("differ from CUDA" in text for text in words(draw_lanes([row])))


def test_a_right_map_has_no_red():
    """A map that follows the rule has arrows in the segment's look, and dotted lines where lanes keep their own."""
    assert looks(shuffle(argument=2)) == {"square": 64, "0": 30, "own": 2}
    assert read(shuffle()).remarks() == []


def test_segments_have_a_look_each():
    """Lanes of different segments have arrows of different looks, and a gap between them."""
    row = shuffle(operation="up", argument=1, width=8)
    assert {look for look in looks(row) if look.isdecimal()} == {"0", "1", "2", "3"}
    xs = [float(x) for x in re.findall(r'<text x="([\d.]+)"[^>]*text-anchor="middle"', draw_lanes([row]).decode())][::2]
    assert xs[8] - xs[7] > xs[7] - xs[6]


@pytest.mark.parametrize("undefined", ["?", "0"])
def test_undefined_reads_are_marked_whatever_the_device_gave(undefined):
    """A read of a lane outside the mask is dashed and a question mark, even where the device returned a number."""
    row = shuffle(argument=4, mask=0x000FFFFF, undefined=undefined)
    assert (looks(row)["undefined"], looks(row)["asked"]) == (4, 4)
    assert [got for _, got in held(row)].count("?") == 4
    assert read(row).remarks() == ["undefined: 4 lanes asked for a lane outside the mask"]


def test_lanes_outside_the_mask_are_hatched():
    """Sixteen lanes that do not take part are 32 hatched squares without arrows; one that changed all the same is wrong."""
    assert looks(shuffle(operation="up", argument=1, mask=0xFFFF)) == {"square": 32, "idle": 32, "0": 15, "own": 1}
    changed = looks(shuffle(operation="up", argument=1, mask=0xFFFF, spoil={20: 3}))
    assert (changed["idle"], changed["wrong"]) == (31, 1)


def test_lanes_that_do_not_exist_are_not_drawn():
    """A block smaller than a warp has only its lanes; what it asks of others is undefined, and a 0 is no error."""
    row = shuffle(argument=8, block=16)
    assert len(held(row)) == 16
    assert read(row).remarks() == ["undefined: 8 lanes asked for a lane that the block does not have"]
    beyond = shuffle(argument=2, size=20, spoil={18: "?", 19: "?"})
    assert read(beyond).remarks() == ["2 lanes received the 0 of a lane beyond the last element"]


def test_arrays_are_framed_and_numbered_by_element():
    """Four elements a lane: a frame around each lane's, the numbers run through the block."""
    row = tour()[-1]
    assert [got for _, got in held(row)] == "7 1 2 3 4 5 6 0 15 9 10 11 12 13 14 8".split()
    assert looks(row)["thread"] == 8
    assert "lane 3" in words(draw_lanes([row]))


def test_each_warp_has_a_line():
    """Two warps are two lines with lane numbers of their own; further ones that look the same are said, not drawn."""
    two = shuffle(argument=1, block=64)
    assert [len(line) for line in lines(read(two))[0]] == [32, 32]
    assert held(two)[32:34] == [("0", "1"), ("1", "2")]
    four = shuffle(argument=1, block=256, size=256)
    assert len(held(four)) == 64
    assert any("2 further lines" in text for text in words(draw_lanes([four])))
    assert len(held(shuffle(argument=1, block=128, spoil={100: 3}))) == 128


def test_the_legend_explains_only_what_is_drawn():
    """A butterfly needs no word on hatching, undefined reads or red."""
    plain = " ".join(words(draw_lanes(butterfly())))
    odd = " ".join(words(draw_lanes([shuffle(argument=4, mask=0x0FFFFFFF, spoil={3: 1})])))
    for word in ("Hatched", "Dashed crimson", "Thick red"):
        assert word in odd
        assert word not in plain


def test_kernels_of_several_cases_have_a_figure_each(run_folder):
    """Two butterflies are two figures, their steps in the order of the run."""
    rows = butterfly() + [shuffle(5 + n, "down", 16 >> n) for n in range(5)]
    plots = chosen(run_folder(rows, columns=COLUMNS))
    assert [plot.stem for plot in plots] == ["lanes-shflXor", "lanes-shflDown"]
    assert [step.name for step in plots[0].steps] == ["xor 16", "xor 8", "xor 4", "xor 2", "xor 1"]
    assert len(table(plots[0])) == 5 * 32


def test_kernels_of_one_case_share_a_figure(run_folder):
    """The tour of all shuffles is one figure, one kernel a step, wrap twice, and nothing else is drawn."""
    (plot,) = chosen(run_folder(tour(), columns=COLUMNS))
    assert (plot.stem, len(plot.steps)) == ("lanes", 8)
    assert {"shflSwap", "per_thread 4", "wrap -2"} <= set(words(plot))


def test_devices_never_share_a_figure(run_folder):
    """The same cases on both devices are two figures."""
    rows = butterfly() + [{**row, "device": "cpu"} for row in butterfly()]
    titles = [plot.title for plot in chosen(run_folder(rows, columns=COLUMNS))]
    assert [title.partition("(")[2] for title in titles] == ["measured on a GPU)", "measured on the CPU device)"]


def test_of_many_cases_the_distinct_ones_are_drawn(run_folder):
    """At most ten steps, none twice, those that break the rule among them, and the rest is counted."""
    rows = [shuffle(n, "down", n % 16, dtype=dtype) for dtype in ("int32", "float32") for n in range(16)]
    rows[13] = shuffle(13, "down", 13, spoil={1: 1}, status="mismatch", reason="wrong")
    (plot,) = chosen(run_folder(rows, columns=COLUMNS))
    names = [step.name for step in plot.steps]
    assert len(names) == len(set(names)) == 10
    assert "down 13" in names
    assert "10 of 32 cases; 15 cases moved the same" in plot.notes
    assert "mismatch" in words(plot)  # beside its name


def test_a_map_that_cannot_be_understood_is_passed_over():
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
    """Text as csv.DictReader gives it makes the same bytes as typed rows, and a title of one's own is escaped."""
    typed = tour()
    text = [{name: str(value) for name, value in row.items()} for row in typed]
    assert draw_lanes(text) == draw_lanes(typed)
    svg = draw_lanes([{**row, "kernel": "<i>\x07"} for row in typed], "Seven <shuffles> & more")
    assert "Seven &lt;shuffles&gt; &amp; more" in words(svg)
    assert ET.fromstring(svg).tag.endswith("svg")
    assert len(svg) < 100_000


def test_the_page_shows_lanes_beside_times(run_folder):
    """A run of shuffles and others has both; of a lane picture there are no pixels, and the page does not offer them."""
    rows = [*butterfly(), *(runs.row(9 + n, kernel=f"k{n}", size=32) | runs.timing(9, 32) for n in range(2))]
    folder = run_folder(rows, columns=COLUMNS)
    page = build(folder).read_text("utf-8")
    assert re.findall(r'id="figure-([^"]+)"', page) == ["time-by-kernel", "lanes-shflXor"]
    assert set(re.findall(r'href="(figures/[^"]+)"', page)) == {
        f"figures/{path.name}" for path in (folder / "figures").iterdir()
    }
    assert "lanes-shflXor.png" not in page


def test_single_blocks_have_no_time_figure_unless_their_lanes_are_not_drawn(run_folder):
    """Where the maps could not be measured, the times are all there is."""
    rows = [{**row, "received": ""} for row in [*butterfly(), shuffle(7, "up", 1)]]
    assert [plot.stem for plot in chosen(run_folder(rows, columns=COLUMNS))] == ["time-by-kernel"]
