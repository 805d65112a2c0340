from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import report_runs


@pytest.fixture
def run_folder(tmp_path: Path) -> Callable[..., Path]:
    """Makes a run folder of the given rows."""

    def make(rows: list[dict[str, Any]], name: str = "03-04-05-reduce", **options: Any) -> Path:
        return report_runs.write(tmp_path / name, rows, **options)

    return make
