import contextlib
import io
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from runner.history.__main__ import main

for name in ("report", "compare"):  # folders written by hand are shared with their tests
    sys.path.append(str(Path(__file__).parents[1] / name))


def drawn(directory, *words):
    """Run the command in a folder: its status, what it says on either stream, and the page."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.chdir(directory), contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            code = main([*map(str, words)])
        except SystemExit as ended:
            code = ended.code
    page = Path(directory) / "outputs" / "index.html"
    text = page.read_text("utf-8") if page.exists() else ""
    return SimpleNamespace(code=code, out=out.getvalue(), err=err.getvalue(), page=page, text=text)


@pytest.fixture
def history(tmp_path):
    """Write runs below `outputs`, the oldest first, and draw their history with further words."""
    import history_runs  # noqa: PLC0415 - it needs the folders above

    def call(runs, *words):
        history_runs.write_all(tmp_path / "outputs", runs)
        return drawn(tmp_path, *words)

    call.again = lambda *words: drawn(tmp_path, *words)
    return call


@pytest.fixture(scope="session")
def known(tmp_path_factory):
    """The history of twelve runs with some steps, for tests that only read it."""
    import history_runs  # noqa: PLC0415 - it needs the folders above

    directory = tmp_path_factory.mktemp("known")
    history_runs.write_all(directory / "outputs", history_runs.changing())
    return drawn(directory)
