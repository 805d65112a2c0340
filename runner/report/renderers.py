"""Processes that draw charts side by side.

    Renderers ──titles, charts──▶ `python -m runner.report.renderers` ──fork──▶ a process per chart ──▶ pictures

The process in the middle imports matplotlib before there is anything to draw.
"""

from __future__ import annotations

import gc
import os
import pickle
import subprocess
import sys
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import TYPE_CHECKING

from runner import children

if TYPE_CHECKING:  # whoever starts the processes need not wait for these imports
    from runner.report.figures.chart import Chart

Picture = tuple[bytes, bytes]
"""A chart as SVG and as PNG."""

SETTINGS = {
    "OPENBLAS_NUM_THREADS": "1",  # a process with one thread can fork
    "MPLBACKEND": "agg",  # a notebook's own backend may not be installed
}


class Renderers:
    """A process that waits for charts, and draws them once. It ends with this one."""

    def __init__(self) -> None:
        """Start it, in a session of its own: Ctrl-C is for this process, which then closes the pipe."""
        self._process = subprocess.Popen(
            [sys.executable, "-m", __name__], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
            env={**children.environment(), **SETTINGS}, start_new_session=True,
        )  # fmt: skip

    def begin(self, charts: Sequence[tuple[str, Chart]]) -> Callable[[], list[Picture]]:
        """Begin to draw charts, each with its title.

        Returns:
            A function that waits for the pictures. There are none if the processes failed.
        """
        thread = ThreadPoolExecutor(1)  # both pipes are read and written at once
        ended = thread.submit(self._process.communicate, pickle.dumps(charts))
        thread.shutdown(wait=False)

        def pictures() -> list[Picture]:
            content, _ = ended.result()
            return [] if self._process.returncode else pickle.loads(content)  # noqa: S301  (from our own code)

        return pictures


def main() -> None:
    """Draw the charts of standard input, and write their pictures to standard output."""
    import multiprocessing  # noqa: PLC0415 - what only these processes need

    from runner.report.figures.chart import Axis, Chart, Line, Panel  # noqa: PLC0415
    from runner.report.figures.drawing import save  # noqa: PLC0415

    save("", Chart([Panel("0", Axis(), Axis(), [Line([0, 1], [0, 1])])]))  # loads fonts and formats for all
    with suppress(EOFError):  # nothing to draw
        charts = pickle.load(sys.stdin.buffer)  # noqa: S301  (the parent's)
        number = min(len(charts), len(os.sched_getaffinity(0)))
        with multiprocessing.get_context("fork").Pool(number) as pool:
            pictures = pool.starmap(save, charts, chunksize=1)
        pickle.dump(pictures, sys.stdout.buffer)
    gc.freeze()  # it ends now: its memory need not be searched for cycles


if __name__ == "__main__":
    main()
