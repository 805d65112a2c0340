"""Figures that other processes draw, and what a sweep imports ahead."""

import subprocess
import sys

import pytest
import report_runs as runs

from runner.record.ranking import ratios
from runner.record.run import read
from runner.report.figures import begin_drawing, choose
from runner.report.figures.figure import draw
from runner.report.renderers import Renderers


@pytest.fixture
def renderers():
    """Processes that draw. They have ended when the test ends."""
    one = Renderers()
    yield one
    one._process.communicate()


@pytest.fixture
def figures(run_folder):
    """The figures of a small sweep, not yet drawn."""
    run = read(run_folder(runs.sweep(sizes=(18, 20), blocks=(128, 256))))
    return choose(run, ratios(run))


def test_renderers_draw_the_same_files(renderers, figures):
    """A figure that another process drew has the files that this process would have made."""
    assert begin_drawing(figures, renderers)() == [draw(figure) for figure in figures] != []


def test_figures_are_drawn_without_renderers(renderers, figures):
    """If the renderers died, this process draws."""
    renderers._process.kill()
    assert all(figure.files["svg"] for figure in begin_drawing(figures, renderers)())


def test_renderers_end_with_their_process(tmp_path):
    """A process that ends without a report leaves no renderers behind."""
    code = "from runner.report.renderers import Renderers; print(Renderers()._process.pid)"
    with (tmp_path / "out").open("w") as out:
        subprocess.run([sys.executable, "-c", code], stdout=out, check=True)
    pid = int((tmp_path / "out").read_text())
    wait = f"import os, time\nwhile os.path.exists('/proc/{pid}/cmdline') and open('/proc/{pid}/cmdline').read(): time.sleep(0.05)"
    subprocess.run([sys.executable, "-c", wait], check=True, timeout=60)


def test_what_a_report_needs_is_imported_ahead():
    """`prepare` returns before the slow modules are imported, and the report finds them imported."""
    code = """if True:
        import sys, threading
        from runner import report
        report.prepare(times=True)
        print("runner.report.page" in sys.modules)
        [thread.join() for thread in threading.enumerate() if thread is not threading.main_thread()]
        print([name for name in report.SLOW if name not in sys.modules], "matplotlib" in sys.modules)"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n[] False\n"
