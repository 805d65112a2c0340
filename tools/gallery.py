"""Makes the reports of the site's gallery, each by a sweep on the CPU device: `make docs`.

build/gallery/ gets a page and, where there is Chromium, a picture of each. `tools/site_pages.py` adds them to the site.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
FOLDER = ROOT / "build" / "gallery"
SCREEN = {"width": 1180, "height": 760}  # pixels


@dataclass(frozen=True)
class Report:
    """A report, the command that makes it, and what it shows.

    Attributes:
        shown: Selector of the element that is at the top of the picture.
    """

    name: str
    title: str
    meaning: str
    arguments: str
    shown: str = "body"

    @property
    def command(self) -> str:
        """What a user types."""
        return f"python -m runner {self.arguments}"

    @property
    def has_picture(self) -> bool:
        """Whether there was a browser when it was made."""
        return (FOLDER / f"{self.name}.png").exists()


REPORTS = (
    Report(
        "lines",
        "What each line costs",
        "Two transposes. Every column of shared memory is in one bank, until the rows are padded: the wavefronts stand "
        "beside the lines that cause them.",
        "kernel=transposeSmem,transposeSmemPad block=32x32 size=256x256 lines=all device=cpu",
        "#lines",
    ),
    Report(
        "races",
        "Races, by line",
        "Kernels that are right most of the time. The checked device names both accesses and what would order them.",
        "experiment=races device=checked",
    ),
    Report(
        "lanes",
        "Which lane gets which register",
        "The shuffles of a warp, drawn from what the lanes received.",
        "experiment=shuffle_tour device=cpu",
        "#lanes",
    ),
    Report(
        "hazards",
        "What CUDA leaves undefined",
        "Kernels that break a rule on purpose. A GPU would return some result; the CPU device reports line, block and "
        "thread.",
        "experiment=hazards device=cpu",
    ),
)

INTRODUCTION = (
    "Each picture opens the whole report, one file without foreign requests. An [example of a sweep on an H200]"
    "(example.html) has times, intervals and ties; those below are from the CPU device, which counts and checks but "
    "does not time."
)


def page() -> str:
    """The gallery, in Markdown; without a report that was not made."""
    parts = [
        "# Gallery",
        INTRODUCTION,
    ]
    for report in REPORTS:
        if (FOLDER / f"{report.name}.html").exists():
            link = f"gallery/{report.name}.html"
            shown = (
                f'<img src="gallery/{report.name}.png" width="800" alt="{report.title}">'
                if report.has_picture
                else link
            )
            parts += [f"## {report.title}", report.meaning, f"    {report.command}", f'<a href="{link}">{shown}</a>']
    return "\n\n".join(parts) + "\n"


def make(report: Report) -> None:
    """Sweep, and keep the report."""
    run = FOLDER / "runs" / report.name
    command = [sys.executable, *report.command.split()[1:], "--quiet", f"hydra.sweep.dir={run}"]
    subprocess.run(command, cwd=ROOT, stdout=subprocess.DEVNULL, check=False)  # a report of hazards exits with 1
    shutil.copyfile(run / "report.html", FOLDER / f"{report.name}.html")


def photograph(reports: Sequence[Report]) -> None:
    """Take the pictures, if Playwright and Chromium are installed."""
    chromium = shutil.which("chromium") or shutil.which("google-chrome")
    try:
        from playwright.sync_api import sync_playwright  # noqa: PLC0415  (only some installations have it)
    except ImportError:
        return
    if chromium is None:
        return
    with sync_playwright() as play:
        browser = play.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        view = browser.new_page(viewport=SCREEN)
        for report in reports:
            view.goto((FOLDER / f"{report.name}.html").as_uri())
            view.locator(report.shown).first.scroll_into_view_if_needed()
            top = view.locator(report.shown).first.bounding_box()
            view.evaluate(f"window.scrollBy(0, {top['y'] - 20 if top else 0})")
            view.screenshot(path=FOLDER / f"{report.name}.png")
        browser.close()


def main() -> None:
    """Make all."""
    shutil.rmtree(FOLDER, ignore_errors=True)
    FOLDER.mkdir(parents=True)
    for number, report in enumerate(REPORTS, 1):
        print(f"gallery: {number}/{len(REPORTS)} {report.name}", file=sys.stderr)
        make(report)
    photograph(REPORTS)
    shutil.rmtree(FOLDER / "runs")


if __name__ == "__main__":
    main()
