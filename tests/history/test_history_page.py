"""The page of a history, in a browser."""

import history_runs as runs
import pytest

from runner.history import page as pages

pytestmark = pytest.mark.browser

HOSTILE = "</script><img src=x onerror='window.ran = 1'>\u202e{{ 7 * 7 }}"
PHONE, DESK = {"width": 390, "height": 844}, {"width": 1400, "height": 900}


def broken(page, **options):
    """The rules of axe-core that the page breaks, each with the elements that do."""
    axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="axe-core is not installed")
    violations = axe.Axe().run(page, options=options).response["violations"]
    return {rule["id"]: [node["html"][:200] for node in rule["nodes"][:5]] for rule in violations}


def draw_all(page):
    """Open all details, and draw all lines as for print."""
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    page.evaluate("for (const part of document.querySelectorAll('details')) part.open = true")
    page.wait_for_function("document.querySelectorAll('.line .table td').length > 0")


@pytest.mark.parametrize("size", [PHONE, DESK], ids=["phone", "desk"])
def test_the_first_screen_has_the_answer(size, open_page, known):
    """Without scrolling: that a case got slower, which, by how much, since which commit, and what else changed."""
    page = open_page(known.page, viewport=size)
    for selector in (".verdict", ".event:first-child .what", ".event:first-child .causes"):
        box = page.locator(selector).first.bounding_box()
        assert box["y"] + box["height"] <= size["height"], selector
    assert page.evaluate("document.documentElement.scrollWidth") <= size["width"]
    draw_all(page)
    assert page.evaluate("document.documentElement.scrollWidth") <= size["width"]
    assert page.wrong == []


def test_axe_finds_nothing(open_page, known):
    """Neither in the light page nor in the dark one, with everything open and drawn."""
    page = open_page(known.page, viewport=DESK)
    draw_all(page)
    page.evaluate(
        "for (const part of document.querySelectorAll('.line ~ .line details')) part.open = false"
    )  # all alike
    assert broken(page) == {}
    page.emulate_media(color_scheme="dark")
    assert broken(page, runOnly=["color-contrast"]) == {}
    page.evaluate("document.querySelector('h1').innerHTML = '<img src=data:,>'")
    assert set(broken(page, runOnly=["image-alt"])) == {"image-alt"}


def test_nothing_is_fetched(open_page, known):
    """The page alone is loaded, and its policy would refuse more."""
    page = open_page(known.page)
    draw_all(page)
    assert page.asked == [known.page.as_uri()]
    assert "default-src 'none'" in known.text


def test_a_line_shows_its_steps_failures_and_runs(open_page, known):
    """Steps and failures are marked with words and signs; the newest run is read out, and the table has all of them."""
    page = open_page(known.page, viewport=DESK)
    draw_all(page)
    slower = page.locator(".line", has_text="reduceShfl, size 2^24")
    assert slower.locator("text.step").all_text_contents() == ["▲ 1.12x slower, 4444444"]
    assert "12 runs, 1 real steps" in slower.locator("svg").get_attribute("aria-label")
    rows = slower.locator("tbody tr")
    assert rows.count() == 12
    step = "▲ 1.12x slower; also changed: kernel source machine code: differs in 1 of 5 cases"
    assert rows.nth(3).inner_text().split("\t") == ["2026-01-01 08:00", "22.41 µs", step, "444444444", "report"]
    wrong = page.locator(".line", has_text="reduceWrong")
    assert wrong.locator(".failed").count() == 2
    assert wrong.locator("tbody tr").nth(8).inner_text().split("\t")[1] == "mismatch"
    assert wrong.locator("tbody tr").nth(8).inner_text().split("\t")[2].startswith("▲ BROKEN")
    counts = page.locator(".line", has_text="transpose")
    assert counts.locator("path").count() == 2
    assert "global load sectors" in counts.inner_text()


def test_keys_and_the_pointer_read_a_run(open_page, known):
    """The arrow keys move along a line; pointing at it does the same; the text says commit and value, and has a link."""
    page = open_page(known.page, viewport=DESK)
    line = page.locator(".line", has_text="reduceShfl, size 2^24")
    line.scroll_into_view_if_needed()
    slider = line.get_by_role("slider", name="Run of reduceShfl, size 2^24")
    slider.focus()
    for _ in range(3):
        page.keyboard.press("ArrowLeft")
    assert slider.get_attribute("aria-valuetext").startswith("2026-01-01 08:00, commit 444444444; 22.41 µs")
    assert "▲ 1.12x slower" in line.locator(".read").inner_text()
    box = line.locator("svg").bounding_box()
    page.mouse.move(box["x"] + 0.13 * box["width"], box["y"] + box["height"] / 2)
    assert "2026-01-01 00:00, commit 000000000; 20 µs" in line.locator(".read").inner_text()
    page.mouse.down()
    page.mouse.up()
    page.wait_for_url("**/00-00-00-run/report.html")


def test_the_filter_hides_cases_and_their_changes(open_page, known):
    """Its words are those of the reports' tables; it counts, and refuses an unknown column with the known ones."""
    page = open_page(known.page, viewport=DESK)
    for words, lines, events in (
        ("kernel=reduceShfl", 2, 1), ("step=slower", 1, 1), ("size=16Mi median_us>25", 1, 1), ("device=cpu", 1, 1),
        ("change_percent>5", 1, 1), ("reducewrong", 1, 2), ("step=none", 1, 0), ("", 5, 5),
    ):  # fmt: skip
        page.locator("#filter").fill(words)
        shown = page.locator(".line:not([hidden])").count(), page.locator(".event:not([hidden])").count()
        assert shown == (lines, events), words
    page.locator("#filter").fill("colour=red")
    assert page.locator(".filter output").inner_text().startswith("There is no column colour. There are: kernel, size,")
    page.locator("#filter").fill("kernel=transpose")
    assert page.locator(".filter output").inner_text() == "1 of 5 cases"


def test_a_printed_page_has_all_lines(open_page, known):
    """On paper there is no filter and no control, but each line."""
    page = open_page(known.page, viewport=PHONE)
    assert page.locator(".line svg").count() < 5
    draw_and_count = "() => (dispatchEvent(new Event('beforeprint')), document.querySelectorAll('.line svg').length)"
    assert page.evaluate(draw_and_count) == 5
    page.emulate_media(media="print")
    assert not page.locator(".filter").is_visible()
    assert not page.locator(".read").first.is_visible()


def test_names_of_any_kind_are_shown_as_text(open_page, history):
    """Scripts and overrides in kernels, reasons, commits, devices, commands and folders do nothing."""
    rows = [
        runs.timed(0, 10, kernel=HOSTILE, dtype=HOSTILE),
        runs.timed(1, 10, kernel=HOSTILE, status=HOSTILE, reason=HOSTILE),
    ]
    later = [runs.timed(0, 12, kernel=HOSTILE, dtype=HOSTILE, binary="n"), runs.timed(1, 10, kernel=HOSTILE)]
    hostile = {**runs.environment("a", name=HOSTILE, versions={HOSTILE: HOSTILE}), "git": {"commit": HOSTILE, "dirty": HOSTILE},
               "command": f"python -m runner experiment='{HOSTILE}'"}  # fmt: skip
    done = history([(rows, hostile), (later, {**hostile, HOSTILE: "b"})])
    folder = done.page.parent / "'><img src=x onerror='window.ran = 1'>#?%41\udcff"
    runs.write_all(folder, [(later, hostile)])
    done = history.again()
    assert done.code == 0, done.err
    page = open_page(done.page, viewport=PHONE)
    draw_all(page)
    assert "</script><img src=x" in page.locator(".event").first.inner_text()
    page.locator("#filter").fill("onerror")
    assert page.evaluate("typeof window.ran") == "undefined"
    assert page.wrong == []
    assert page.locator("img").count() == 0
    assert "\u202e" not in done.text
    assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]
    page.locator("#filter").fill("")
    page.locator("#all-runs a", has_text="onerror").click()
    page.wait_for_url("**/report.html")


def test_thousands_of_cases_keep_the_page_small(open_page, history, monkeypatch):
    """The page has the cases with steps and as many others as it holds, says how many are missing, and draws what is in view."""
    monkeypatch.setattr(pages, "MAX_LINES", 40)
    rows = [runs.timed(n, 5 + n, kernel=f"k{n:03d}") for n in range(60)]
    later = [*rows[:55], *(runs.timed(n, 6 + n, kernel=f"k{n:03d}", binary="n") for n in range(55, 60))]
    done = history([(rows, runs.environment("a")), (later, runs.environment("b"))])
    page = open_page(done.page, viewport=DESK)
    assert "40 of 60 cases are shown" in page.locator("#cases .note").first.inner_text()
    assert "k055" in page.locator(".line").first.inner_text()
    assert 3 <= page.locator(".line svg").count() < 40
    page.locator(".line").last.scroll_into_view_if_needed()
    page.wait_for_selector("#line-39 svg")
    assert page.locator(".event .what").first.inner_text().endswith("and 4 other cases")
