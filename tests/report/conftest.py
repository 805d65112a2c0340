from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import report_runs

from runner.report import build


@pytest.fixture
def run_folder(tmp_path: Path) -> Callable[..., Path]:
    """Makes a run folder of the given rows."""

    def make(rows: list[dict[str, Any]], name: str = "03-04-05-reduce", **options: Any) -> Path:
        return report_runs.write(tmp_path / name, rows, **options)

    return make


@pytest.fixture
def open_page(browser):
    """Opens a file; the page notes what it asks for and what goes wrong in it."""
    opened = []

    def go(path, anchor="", **options):
        page = browser.new_page(**options)
        opened.append(page)
        page.asked, page.wrong = [], []
        page.on("request", lambda request: page.asked.append(request.url))
        page.on("console", lambda message: page.wrong.append(message.text))
        page.on("pageerror", lambda error: page.wrong.append(str(error)))
        page.on("dialog", lambda dialog: (page.wrong.append(dialog.message), dialog.dismiss()))
        page.goto(path.as_uri() + anchor)
        return page

    yield go
    for page in opened:
        page.close()


@pytest.fixture
def without_figures(monkeypatch):
    """Leaves the figures out of pages, as most tests do not need what takes longest."""
    monkeypatch.setattr("runner.report.figures.draw_all", lambda *_: [])


@pytest.fixture
def visit(open_page, run_folder, monkeypatch):
    """Opens the report of some rows, without figures unless they are asked for."""

    def go(rows, anchor="", folder=None, *, figures=False, **options):
        made = run_folder(rows, f"run-{len(made_so_far)}", **(folder or {}))
        made_so_far.append(made)
        with monkeypatch.context() as patch:
            if not figures:
                patch.setattr("runner.report.figures.draw_all", lambda *_: [])
            return open_page(build(made), anchor, **options)

    made_so_far = []
    return go
