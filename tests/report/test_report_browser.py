import shutil
from pathlib import Path

import pytest
import report_runs as runs

from runner.report import build

pytestmark = pytest.mark.browser

H200 = Path(__file__).resolve().parents[1] / "h200_sweep"
WIDE_RUNS = {
    "sweep": runs.sweep(),
    "failures": runs.failures(),
    "emulated": runs.emulated(),
    "long name": [runs.row(kernel="n" * 500)],
    "long reason": [runs.failed(0, "crashed", "r" * 5000), runs.row(1)],
}


def column(page, name):
    """The visible cells of a column of the table of all cases."""
    names = page.locator("#cases thead th").evaluate_all("(all) => all.map((h) => h.dataset.name ?? h.innerText)")
    place = names.index(name) + 1
    cells = page.locator(f"#cases tbody tr:visible td:nth-child({place})").all_inner_texts()
    return [cell.removeprefix("# ") for cell in cells]


def heads(page):
    """The columns of the table of all cases that can be seen, by their names in results.csv."""
    return page.locator("#cases thead th:visible").evaluate_all(
        "(all) => all.map((h) => h.dataset.name ?? h.innerText)"
    )


def in_view(page, locator):
    """Whether an element stands within the window."""
    box = page.locator(locator).bounding_box()
    return box is not None and box["y"] >= 0 and box["y"] + box["height"] <= page.viewport_size["height"]


def test_no_request_leaves_the_page(visit):
    """The page asks for itself and for what it embeds, and nothing in it fails."""
    page = visit(runs.sweep(), figures=True)
    assert [url for url in page.asked if not url.startswith(("file:", "data:"))] == []
    assert len([url for url in page.asked if url.startswith("file:")]) == 1
    assert page.wrong == []
    assert page.evaluate("Array.from(document.images).every((image) => image.naturalWidth > 0)")


def test_columns_sort_by_value(visit):
    """A click sorts by the number behind the text, a second one the other way, empty cells last in both."""
    page = visit(runs.failures())
    button = page.get_by_role("button", name="median time")
    for back in (False, True):
        button.click()
        cells = [cell.replace(",", "") for cell in column(page, "median_us")]
        told = [float(cell) for cell in cells if cell]
        assert told == sorted(told, reverse=back)
        assert cells[len(told) :] == [""] * 13
    assert page.locator("#cases th[aria-sort=descending]").count() == 1


NUMBERS = {
    "1,024": 1024, "2^20": 2**20, "16Ki": 2**14, "32x16": 512, "4096x4096": 2**24, "1.05x": 1.05, "32/1": 32,
    "4.256 to 4.608": 4.256, "1.05x (0.98 to 1.13, 5 cases)": 1.05, ".5": 0.5, "-3e2": -300, "0x00000010": "0x00000010",
    "ok": "ok", "": "", "3 of 9 differ": "3 of 9 differ", "2dStencil": "2dStencil",
}  # fmt: skip


def test_numbers_are_read_as_the_page_writes_them(visit):
    """Sorting and filtering know powers, units, rectangles, ratios and ranges; a word that begins with a digit is none."""
    page = visit([runs.row(), runs.row(1)])
    assert {text: page.evaluate("valueOf", text) for text in NUMBERS} == NUMBERS


def test_words_filter_rows(visit):
    """All words must hold; name=value is matched whole; the count is told; a link to a hidden row shows it."""
    page = visit(runs.sweep())
    page.locator("#filter").fill("reduceShfl block=128 size=2^24")
    assert column(page, "kernel") == ["reduceShfl", "reduceShflUnroll"]
    assert page.locator("output").inner_text() == "2 of 72 cases"
    page.locator("#filter").fill("block=12")
    assert column(page, "kernel") == []
    page.locator("#fastest tbody a").first.click()
    page.locator("tr:target").wait_for(state="visible")  # the link's event comes after the click


QUESTIONS = {
    "size=16Mi": lambda row: row["size"] == 2**24,
    "size=16777216 kernel!=reduceShfl": lambda row: row["size"] == 2**24 and row["kernel"] != "reduceShfl",
    "block>=256 size<1Mi": lambda row: row["block"] >= 256 and row["size"] < 2**20,
    "gbps>2000": lambda row: float(row["gbps"]) > 2000,
    "median_us<=3.5": lambda row: float(row["median_us"]) <= 3.5,
    "speedup<100": lambda row: row["baseline"],
    "STATUS=ok reduceSmemUnroll": lambda row: row["kernel"] == "reduceSmemUnroll",
    "size=2**24 device=cuda": lambda row: row["size"] == 2**24,
    "registers=16 bytes_read>=4Mi": lambda row: row["size"] >= 2**20,
    "kernel<reduceShfl": lambda row: not row,
}


def test_columns_are_compared(visit):
    """A word may compare a column with a number, written as the command line takes it; empty cells never hold."""
    page = visit(runs.sweep())
    for words, holds in QUESTIONS.items():
        page.locator("#filter").fill(words)
        found = [row["kernel"] for row in runs.sweep() if holds(row)]
        assert column(page, "kernel") == found
        assert page.locator("output").inner_text() == f"{len(found)} of 72 cases"


def test_an_unknown_column_is_named(visit):
    """A word with a column that there is not hides nothing, and the columns that there are are listed."""
    page = visit(runs.sweep())
    page.locator("#filter").fill("hostbound=True block=128")
    said = page.locator(".filter output").inner_text()
    assert said.startswith("There is no column hostbound.")
    assert "bytes_read" in said
    assert len(column(page, "kernel")) == 24


def point(page, kernel, size, block):
    """Where a case stands in the chart, as coordinates of the window."""
    page.locator("#explorer").scroll_into_view_if_needed()
    return page.evaluate(
        """([kernel, size, block]) => {
            const row = rows.findIndex((row) => [kernel, size, block].every((text, n) => told(row.cells[n]) === text));
            const svg = document.querySelector('#explorer .chart svg');
            const dot = Array.from(svg.querySelectorAll('.cases circle')).find((dot) => dot.__data__ === row);
            const box = dot.getBoundingClientRect();
            return [box.x + box.width / 2, box.y + box.height / 2];
        }""",
        [kernel, size, block],
    )


@pytest.fixture(scope="module")
def kernels():
    """Two reductions."""
    return [row for row in runs.sweep() if row["kernel"] in ("reduceGmem", "reduceShfl")]


def test_a_point_says_its_case_and_leads_to_its_row(visit, kernels):
    """Hovering shows the case and its numbers, a click goes to its row; the static figures give way to the chart."""
    page = visit(kernels, figures=True, viewport={"width": 1280, "height": 900})
    assert not page.locator("#times > figure:not(#explorer)").first.is_visible()
    page.mouse.move(*point(page, "reduceShfl", "2^24", "128"))
    tip = page.locator("#explorer .tip").text_content()
    assert "reduceShfl, size 2^24, block 128" in tip
    assert "bandwidth, GB/s: 1,4" in tip
    page.mouse.down()
    page.mouse.up()
    page.locator("tr:target").wait_for(timeout=5000)
    assert page.locator("tr:target").inner_text().split()[1:4] == ["reduceShfl", "2^24", "128"]
    assert page.wrong == []


def test_axes_colour_and_panels_are_chosen(visit, kernels):
    """Any column can be an axis; the buttons bring the figures back; the table's filter holds for the chart."""
    page = visit(kernels, figures=True)
    said = page.locator("#explorer .said")
    assert said.inner_text().startswith("24 cases;")
    page.locator("#explorer [name=x]").select_option("block")
    page.locator("#explorer [name=y]").select_option("bytes_read")
    page.locator("#explorer [name=colour]").select_option("size")
    page.locator("#explorer [name=panels]").select_option("kernel")
    assert page.locator("#explorer .chart svg.plot").count() == 2
    assert page.locator("#explorer .legend").inner_text().split()[:2] == ["size", "2^18"]
    page.get_by_role("button", name="Bandwidth by block").click()
    assert page.locator("#explorer [name=colour]").input_value() == "kernel"
    assert said.inner_text().startswith("6 cases with size 2^24;")
    page.locator("#filter").fill("kernel=reduceShfl block>128")
    assert said.inner_text().startswith("2 cases")


def test_a_chart_has_the_cases_of_a_kernel_without_a_size(visit):
    """What no case has, such as a size that a kernel does not know, is not asked of the cases."""
    rows = [runs.row(n, size=2**20, block=32 * n + 32) | runs.timing(9 + n, 2**20) | {"size": ""} for n in range(6)]
    page = visit(rows, figures=True)
    assert page.locator("#explorer .said").inner_text().startswith("6 cases;")


def test_the_reader_chooses_the_dark(visit, kernels):
    """The page follows the system until its switch is pressed; the choice outlives a reload; charts follow the colours."""
    page = visit(kernels, figures=True, color_scheme="dark")
    paper = "getComputedStyle(document.body).backgroundColor"
    line = "getComputedStyle(document.querySelector('#explorer .chart svg [stroke-width=\"1.8\"] path')).stroke"
    dark = page.evaluate(paper), page.evaluate(line)
    page.get_by_role("button", name="Light").click()
    light = page.evaluate(paper), page.evaluate(line)
    assert light[0] == "rgb(255, 255, 255)"
    assert dark[0] != light[0]
    assert dark[1] != light[1]
    page.reload()
    assert page.evaluate(paper) == light[0]
    page.get_by_role("button", name="Dark").click()
    assert page.evaluate(paper) == dark[0]


def test_charts_fit_a_phone(visit):
    """At 390 pixels every chart is as wide as the page, its letters stay as large, and the contents stay in view."""
    page = visit(runs.sweep(), figures=True, viewport={"width": 390, "height": 844})
    sizes = page.evaluate(
        "Array.from(document.querySelectorAll('svg.plot'), (svg) => [svg.getBoundingClientRect().right, getComputedStyle(svg).fontSize])"
    )
    assert len(sizes) == 1 + 5 + 6
    assert all(right <= 390 and size == "13px" for right, size in sizes)
    page.locator("#cases").scroll_into_view_if_needed()
    assert in_view(page, "nav")


def test_each_row_has_a_link_to_itself(visit):
    """The sign in a row's first cell leads to the row; opened elsewhere the link shows the row in the middle, marked."""
    page = visit(runs.sweep())
    page.locator("#cases tbody tr").nth(40).locator("a.mark").click()
    page.locator("tr:target").wait_for(timeout=5000)
    anchor = page.evaluate("location.hash")
    assert anchor == "#case-00000028"
    page = visit(runs.sweep(), anchor, viewport={"width": 1280, "height": 800})
    assert page.locator("tr:target").get_attribute("id") == "case-00000028"
    assert in_view(page, "tr:target")
    assert page.locator("tr:target td").first.evaluate("(cell) => getComputedStyle(cell).boxShadow") != "none"


def test_the_less_telling_columns_wait_until_they_are_asked_for(visit):
    """What decides is shown; the box, which a keyboard reaches, shows the rest; it is left out where there is none."""
    page = visit(runs.sweep())
    assert heads(page) == [
        *("kernel", "size", "block", "status", "median_us", "ci_low_us to ci_high_us", "gbps", "percent_peak"),
        *("percent_copy", "speedup"),
    ]
    page.locator("#filter").focus()
    page.keyboard.press("Tab")
    page.keyboard.press("Space")
    assert {"grid", "min_us", "q1_us to q3_us"} < set(heads(page))
    page.keyboard.press("Space")
    assert "grid" not in heads(page)
    page = visit([runs.row(), runs.row(1)], folder={"columns": ["kernel", "status"]})
    assert page.locator("#all-columns").count() == 0


def test_the_page_is_whole_without_scripts(visit):
    """Without JavaScript every row and column is there, and no control that would do nothing."""
    page = visit(runs.sweep(), java_script_enabled=False)
    assert len(column(page, "kernel")) == 72
    assert "grid" in heads(page)
    assert not page.locator("#filter").is_visible()
    page = visit(runs.sweep(), figures=True, java_script_enabled=False)
    assert page.locator("#times > figure:not(#explorer)").first.is_visible()
    assert not page.locator("#explorer").is_visible()


@pytest.mark.usefixtures("without_figures")
def test_a_laptop_shows_the_table_of_a_real_sweep_whole(open_page, tmp_path):
    """Of 360 cases on a GPU all columns that decide fit on 1280 pixels."""
    shutil.copy(H200 / "results.csv", tmp_path / "results.csv")
    page = open_page(build(tmp_path), viewport={"width": 1280, "height": 900})
    width, room = page.locator("#cases .wide").evaluate("(region) => [region.scrollWidth, region.clientWidth]")
    assert width <= room


@pytest.mark.parametrize("rows", WIDE_RUNS.values(), ids=WIDE_RUNS)
def test_a_phone_needs_no_sideways_scrolling(visit, rows):
    """At 390 pixels the page is as wide as the screen, also with all details open; the kernel stays as a table scrolls."""
    page = visit(rows, figures=True, viewport={"width": 390, "height": 844})
    page.evaluate("for (const part of document.querySelectorAll('details')) part.open = true")
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    page.locator("#cases .wide").evaluate("(region) => region.scrollLeft = 150")
    assert page.locator("#cases tbody td").first.evaluate("(cell) => cell.getBoundingClientRect().left") >= 0


@pytest.mark.parametrize("rows", [runs.sweep(), runs.failures()])
def test_paper_has_all_rows_and_no_controls(visit, rows):
    """In print controls, links to files and closed details are gone, what was opened stays, and all fits the sheet."""
    page = visit(rows, figures=True, viewport={"width": 720, "height": 1000})
    page.emulate_media(media="print")
    for gone in ("#filter", "#all-columns", ".mark >> nth=0", ".files >> nth=0", "#details h2"):
        assert not page.locator(gone).is_visible()
    assert len(column(page, "kernel")) == len(rows)
    assert "grid" not in heads(page)
    assert page.evaluate("document.documentElement.scrollWidth") <= 724
    page.locator("#details details").first.evaluate("(part) => part.open = true")
    assert page.locator("#details details").first.is_visible()
    assert not page.locator("#details details").last.is_visible()


@pytest.fixture(scope="module")
def many(tmp_path_factory):
    """The report of 2,000 cases."""
    rows = runs.sweep(sizes=tuple(range(10, 18)), blocks=tuple(range(32, 32 * 43, 32)))[:2000]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("runner.report.figures.choose", lambda *_: [])
        return build(runs.write(tmp_path_factory.mktemp("many") / "run", rows))


def test_two_thousand_rows_stay_usable(open_page, many):
    """They sort and filter, are found by the browser's own search, and a link leads to the last one."""
    page = open_page(many, "#case-000007cf", viewport={"width": 1280, "height": 900})
    assert in_view(page, "tr:target")
    page.get_by_role("button", name="median time").click()
    page.locator("#filter").fill("size=2^17")
    assert page.locator("output").inner_text() == "236 of 2000 cases"
    page.locator("#filter").fill("")
    assert page.evaluate("window.find('reduceShflUnroll')")
    page.locator("#all-columns").check()
    assert {"grid", "min_us"} < set(heads(page))
    widths = page.evaluate(
        "Array.from(document.querySelectorAll('#cases tr')).slice(0, 9).map((row) => row.scrollWidth)"
    )
    assert len(set(widths)) == 1
    page.emulate_media(media="print")
    assert page.locator("#cases tbody tr").last.evaluate("(row) => getComputedStyle(row).display") == "table-row"
