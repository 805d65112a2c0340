import re

import compare_runs
import pytest
from compare_runs import WILD, failed, timed
from drawing import PageParts

PHONE = {"width": 390, "height": 844}

BEFORE = [timed(n, 100, block=32 + 32 * n) for n in range(6)]
AFTER = [
    failed(0, reason="3 elements differ", block=32), timed(1, 120, block=64), timed(2, 110, block=96),
    timed(3, 80, block=128), timed(4, 100, block=160), timed(5, 103, WILD, block=192),
]  # fmt: skip


@pytest.fixture
def visit(open_page, page, tmp_path):
    """Opens the page of a comparison."""

    def go(*runs, **options):
        page(*runs)
        return open_page(tmp_path / "result.html", **options)

    return go


def test_the_same_runs_give_the_same_bytes(page, compare, tmp_path):
    """Page and table do not depend on the day, the process, or the folders' paths."""
    first = page(BEFORE, AFTER), (tmp_path / "result.csv").read_bytes()
    (tmp_path / "moved").mkdir()
    for name in "AB":
        (tmp_path / name).rename(tmp_path / "moved" / name)
    compare.folders("moved/A", "moved/B", "--html", "again.html")
    assert ((tmp_path / "again.html").read_text("utf-8"), (tmp_path / "result.csv").read_bytes()) == first


def test_the_order_is_that_of_a_readers_questions(page):
    """The order is: verdict, broken cases, what differs, figure, cases, details."""
    text = page(BEFORE, AFTER)
    marks = ('class="verdict bad"', 'id="problems"', 'id="causes"', 'id="figures"', 'id="cases"', 'id="details"')
    places = [text.index(mark) for mark in marks]
    assert places == sorted(places)


def test_emulated_times_are_not_compared_on_the_page(page):
    """There is no change, no interval and no figure, and the header says why."""
    text = page(*[[timed(n, us, device="cpu") for n, us in enumerate(times)] for times in ((9, 9), (9, 20))])
    assert "emulated and not compared" in text
    heads = set(re.findall(r"<th[^>]*>(\w+)", text.replace("<wbr>", "")))
    assert "word" in heads
    assert not {"change_percent", "median_us"} & heads
    assert "<img" not in text


def test_hostile_text_is_shown_and_not_obeyed(page, compare, tmp_path):
    """Markup in kernels, reasons, sources, environments and the names of runs stays text."""
    evil = "<script>alert(1)</script>\"'><img src=x onerror=alert(1)>\u202egnol\x1b[31m"
    rows = [timed(0, 100, kernel=evil), timed(1, 100)], [failed(0, reason=evil, kernel=evil), timed(1, 120)]
    plain = PageParts(page(*rows, sources={"A": {"kernels/a.cu": "1"}, "B": {"kernels/a.cu": f"</pre>{evil}"}}))
    assert plain.tags.count("script") == 1
    assert plain.tags.count("img") == 1
    assert "<script>alert(1)</script>" in plain.text
    (tmp_path / "A").rename(tmp_path / "<script>a")
    compare.folders("<script>a", "B", "--html", "b.html")
    text = (tmp_path / "b.html").read_text("utf-8")
    assert PageParts(text).tags.count("script") == 1
    assert not {"\u202e", "\x1b"} & set(text)


@pytest.mark.parametrize("us", [100, None])
def test_a_comparison_without_changes_or_times_has_a_page(page, us):
    """The table is always there, the figure only with times."""
    rows = [[timed(0, 100)] if us else [failed(0)]] * 2
    tags = PageParts(page(*rows))
    assert tags.tags.count("img") == (1 if us else 0)
    assert "reduceShfl" in tags.text


@pytest.mark.browser
@pytest.mark.parametrize("runs", [(BEFORE, AFTER), (BEFORE, BEFORE), (BEFORE, AFTER, BEFORE)])
def test_no_request_leaves_the_page(visit, runs):
    """The page loads only itself and what it embeds."""
    seen = visit(*runs)
    assert [url for url in seen.asked if not url.startswith("data:")] == [seen.url]
    assert seen.evaluate("Array.from(document.images).every((image) => image.naturalWidth > 0)")


def _cells(seen, name):
    heads = seen.locator("#cases table.sortable thead th").all_inner_texts()
    place = next(n for n, head in enumerate(heads, 1) if head.strip().startswith(name))
    return seen.locator(f"#cases table.sortable tbody tr:visible td:nth-child({place})").all_inner_texts()


@pytest.mark.browser
def test_cases_sort_and_filter(visit):
    """The worst case comes first and same cases are folded; a click sorts by value, and words filter."""
    seen = visit(BEFORE, AFTER)
    assert _cells(seen, "word") == ["BROKEN", "slower", "slower", "inconclusive", "faster"]
    assert not seen.locator("#same tbody tr").first.is_visible()
    seen.get_by_role("button", name="change_percent").click()
    assert _cells(seen, "change_percent")[:4] == ["-20.0", "+2.8", "+10.0", "+20.0"]
    seen.locator("#filter").fill("word=slower block=64")
    assert _cells(seen, "word") == ["slower"]
    seen.locator("#filter").fill("")
    seen.locator("#problems a").first.click()
    seen.locator("tr:target").wait_for(state="visible")


@pytest.mark.browser
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_page_follows_the_reader(visit, scheme):
    """Paper and ink follow the colour scheme, and a phone of 390 pixels needs no sideways scrolling."""
    seen = visit(BEFORE, AFTER, [timed(0, 100, kernel="n" * 300, block=32)], color_scheme=scheme, viewport=PHONE)
    style = "getComputedStyle(document.body)"
    paper, ink = (sum(map(int, seen.evaluate(f"{style}.{n}.match(/\\d+/g)"))) for n in ("backgroundColor", "color"))
    assert (paper > 600 and ink < 150) if scheme == "light" else (paper < 150 and ink > 600)
    assert seen.evaluate("document.documentElement.scrollWidth") <= 390


def test_a_comparison_of_256_cases_is_below_a_megabyte(compare, tmp_path):
    """The page can be sent by mail."""
    rows = [
        [timed(n, us, size=2 ** (14 + n % 16), kernel=f"k{n % 8}", block=64 << n % 4) for n in range(256)]
        for us in (100, 105)
    ]
    compare(*rows, options=("--html", "result.html"))
    assert (tmp_path / "result.html").stat().st_size < 1_000_000


def test_a_parameter_may_have_the_name_of_a_result(page, monkeypatch):
    """The column of a kernel's parameter `word` has its values, and the word on the case has its own column."""
    monkeypatch.setattr(compare_runs, "COLUMNS", ("word", *compare_runs.COLUMNS))
    before, after = ([timed(n, us, word=n) for n in (16, 32)] for us in (100, 150))
    text = page(before, after)
    lines = re.findall(r"<tr id=.*?</tr>", text, re.DOTALL)
    cells = [re.sub(r"<[^>]+>", " ", line).split() for line in lines]
    assert [line[2:4] for line in cells] == [["16", "slower"], ["32", "slower"]]
