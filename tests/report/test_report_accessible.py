import pytest
import report_runs as runs
from shuffle_rows import COLUMNS, tour

axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="axe-core is not installed")

pytestmark = pytest.mark.browser

COLOURS = ["color-contrast", "link-in-text-block"]  # the rules about them
LADDER = ("reduceGmem", "reduceSmem", "reduceShfl")
RUNS = {
    "figures": ([r for r in runs.sweep((18, 20, 24), (128, 256)) if r["kernel"] in LADDER], {}),
    "failures": ([*runs.failures(), *(runs.failed(n, "crashed", "why\n" * 400, block=64 + n) for n in range(2))], {}),
    "emulated": (runs.emulated(), {}),
    "lanes": (tour(), {"columns": COLUMNS}),
}


def broken(page, **options):
    """The rules that the page breaks, each with the elements that do."""
    violations = axe.Axe().run(page, options=options).response["violations"]
    return {rule["id"]: [node["html"][:200] for node in rule["nodes"][:5]] for rule in violations}


@pytest.mark.parametrize(("rows", "folder"), RUNS.values(), ids=RUNS)
def test_axe_finds_nothing(visit, rows, folder):
    """Names, roles, contrast, headings, focus: no rule of axe-core is broken, light or dark, with all details open."""
    page = visit(rows, folder=folder, figures=True)
    page.evaluate("for (const part of document.querySelectorAll('details')) part.open = true")
    if page.locator("#all-columns").is_visible():
        page.locator("#all-columns").check()
    assert broken(page) == {}
    page.emulate_media(color_scheme="dark")  # changes nothing but colours
    assert broken(page, runOnly=COLOURS) == {}


def test_axe_would_find_something(visit):
    """The page's own rules of content do not keep axe-core from running."""
    page = visit(runs.emulated())
    page.evaluate("document.querySelector('h1').innerHTML = '<img src=data:,><i style=color:#eee>pale</i>'")
    assert {"image-alt", "color-contrast"} <= set(broken(page))
    assert set(broken(page, runOnly=COLOURS)) == {"color-contrast"}
