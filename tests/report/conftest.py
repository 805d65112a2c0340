import json
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
def without_figures(monkeypatch):
    """Leaves the figures out of pages, as most tests do not need what takes longest."""
    monkeypatch.setattr("runner.report.figures.choose", lambda *_: [])


@pytest.fixture(scope="session")
def built(tmp_path_factory):
    """The report of some rows, made once for all tests that only read it."""
    pages = {}

    def make(rows, *, figures=True, **options):
        key = json.dumps([rows, figures, options])
        if key not in pages:
            folder = report_runs.write(tmp_path_factory.mktemp("built") / "03-04-05-reduce", rows, **options)
            with pytest.MonkeyPatch.context() as patch:
                if not figures:
                    patch.setattr("runner.report.figures.choose", lambda *_: [])
                pages[key] = build(folder)
        return pages[key]

    return make


@pytest.fixture
def visit(open_page, built):
    """Opens the report of some rows, without figures unless they are asked for."""

    def go(rows, anchor="", folder=None, *, figures=False, **options):
        return open_page(built(rows, figures=figures, **(folder or {})), anchor, **options)

    return go
