import shutil

import pytest
import report_runs as runs

from runner.report import build

playwright = pytest.importorskip("playwright.sync_api", reason="Playwright is not installed")
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking"]

pytestmark = [pytest.mark.browser, pytest.mark.skipif(not CHROMIUM, reason="there is no Chromium here")]


@pytest.fixture(scope="module")
def browser():
    """A headless Chromium."""
    with playwright.sync_playwright() as started:
        opened = started.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield opened
        opened.close()


@pytest.fixture
def visit(browser, run_folder):
    """Opens the report of some rows; the page notes what it asks for and what goes wrong in it."""
    opened = []

    def go(rows, **options):
        page = browser.new_page(**options)
        opened.append(page)
        page.asked, page.wrong = [], []
        page.on("request", lambda request: page.asked.append(request.url))
        page.on("console", lambda message: page.wrong.append(message.text))
        page.on("pageerror", lambda error: page.wrong.append(str(error)))
        page.goto(build(run_folder(rows)).as_uri())
        return page

    yield go
    for page in opened:
        page.close()


def column(page, number):
    """The visible cells of a column of the table of all cases."""
    return page.locator(f"#cases tbody tr:visible td:nth-child({number})").all_inner_texts()


def test_no_request_leaves_the_page(visit):
    """The page asks for itself and for what it embeds, and nothing in it fails."""
    page = visit(runs.sweep())
    assert [url for url in page.asked if not url.startswith(("file:", "data:"))] == []
    assert len([url for url in page.asked if url.startswith("file:")]) == 1
    assert page.wrong == []
    assert page.evaluate("Array.from(document.images).every((image) => image.naturalWidth > 0)")


def test_columns_sort_by_value(visit):
    """A click sorts by the number behind the text, a second one the other way, empty cells last in both."""
    page = visit(runs.failures())
    heads = page.locator("#cases thead th").all_inner_texts()
    number = heads.index("median_us") + 1
    button = page.get_by_role("button", name="median_us")
    for back in (False, True):
        button.click()
        cells = [cell.replace(",", "") for cell in column(page, number)]
        told = [float(cell) for cell in cells if cell]
        assert told == sorted(told, reverse=back)
        assert cells[len(told) :] == [""] * 13
    assert page.locator("#cases th[aria-sort=descending]").count() == 1


def test_words_filter_rows(visit):
    """All words must hold; name=value is matched whole; the count is told; a link to a hidden row shows it."""
    page = visit(runs.sweep())
    page.locator("#filter").fill("reduceShfl block=128 size=2^24")
    assert column(page, 1) == ["reduceShfl", "reduceShflUnroll"]
    assert page.locator("output").inner_text() == "2 of 72 cases"
    page.locator("#filter").fill("block=12")
    assert column(page, 1) == []
    page.locator("#fastest tbody a").first.click()
    page.locator("tr:target").wait_for(state="visible", timeout=5000)  # the link's event comes after the click


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_stands_out_in_light_and_dark(visit, scheme):
    """Paper and ink follow the reader's choice, and figures stay on white."""
    page = visit(runs.sweep(sizes=(20, 24), blocks=(256,)), color_scheme=scheme)
    style = "getComputedStyle(document.body)"
    paper, ink = (
        sum(map(int, page.evaluate(f"{style}.{name}.match(/\\d+/g)"))) for name in ("backgroundColor", "color")
    )
    assert (paper > 600 and ink < 150) if scheme == "light" else (paper < 150 and ink > 600)
    card = page.locator(".card").first.evaluate("(card) => getComputedStyle(card).backgroundColor")
    assert card == "rgb(255, 255, 255)"


@pytest.mark.parametrize("rows", [runs.sweep(), runs.failures(), runs.emulated(), [runs.row(kernel="n" * 500)]])
def test_a_phone_needs_no_sideways_scrolling(visit, rows):
    """At 390 pixels the page is as wide as the screen; wide tables scroll by themselves."""
    page = visit(rows, viewport={"width": 390, "height": 844})
    assert page.evaluate("document.documentElement.scrollWidth") <= 390


def test_the_page_is_whole_without_scripts(visit):
    """Without JavaScript every row is there and no control that would do nothing."""
    page = visit(runs.sweep(), java_script_enabled=False)
    assert len(column(page, 1)) == 72
    assert not page.locator("#filter").is_visible()


def test_paper_has_all_rows_and_no_controls(visit):
    """In print the filter is gone and the tables fit the sheet."""
    page = visit(runs.sweep(), viewport={"width": 720, "height": 1000})
    page.emulate_media(media="print")
    assert not page.locator("#filter").is_visible()
    assert page.evaluate("document.documentElement.scrollWidth") <= 724
