"""Fixtures of all tests, and the reasons for which some are skipped."""

from __future__ import annotations

import contextlib
import fcntl
import functools
import os
import shutil
from collections import Counter
from pathlib import Path
from types import SimpleNamespace

# Several processes share the cores: threads of one that wait for work in a loop take the time of the others.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import processes
import pytest
from support import Bench

from runner.device import Source
from runner.device.config import DeviceConfig
from runner.device.cpu.build import CpuCompiler
from runner.device.kinds import compiler_for, open_device
from runner.display import terminal
from runner.errors import CompileError, DeviceUnavailable

terminal.QUIET_S = 600.0  # a slow machine would add a line of progress to what a test expects

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
CACHE_BYTES = 1 << 30
LONG = ("test_slurm.py", "test_tutorial.py")  # whose tests take longest, mostly waiting: begun first, none is the last
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking"]


def no_gpu() -> str:
    """Why there is no GPU to test on; empty if there is one."""
    try:
        open_device(DeviceConfig(kind="cuda")).close()
    except DeviceUnavailable as e:
        return str(e)
    return ""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with the longest tests, and skip what needs hardware or tools that are not here, each with its reason."""
    items.sort(key=lambda item: item.path.name not in LONG)
    reasons: dict[str, str] = {}
    if any(item.get_closest_marker("gpu") for item in items):
        reasons["gpu"] = no_gpu()
    reasons["nvcc"] = "" if shutil.which("nvcc") else "nvcc is not on the PATH"
    for item in items:
        for marker, reason in reasons.items():
            if reason and item.get_closest_marker(marker):
                item.add_marker(pytest.mark.skip(reason=reason))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Why tests were skipped, in one line for each reason. The tests that failed follow."""
    skipped = terminalreporter.getreports("skipped")
    reasons = Counter(report.longrepr[2].removeprefix("Skipped: ") for report in skipped)
    if reasons:
        terminalreporter.section("skipped tests")
    for reason, number in reasons.most_common():
        terminalreporter.write_line(f"{number} skipped: {reason}")


def pytest_configure(config: pytest.Config) -> None:
    """Empty the cache of compiled kernels now and then: nobody takes out what older headers left there."""
    if "PYTEST_XDIST_WORKER" not in os.environ and "RUNNER_TEST_CACHE" not in os.environ and hasattr(config, "cache"):
        folder = config.cache.mkdir("compiled")
        if sum(path.stat().st_size for path in folder.rglob("*") if path.is_file()) > CACHE_BYTES:
            shutil.rmtree(folder)


@pytest.fixture(scope="session", autouse=True)
def own_cache(pytestconfig, tmp_path_factory):
    """What an earlier session compiled is taken as users take it: its name depends on all that it was compiled from.

    `--cache-clear` starts without it.
    """
    folder = Path(os.environ.get("RUNNER_TEST_CACHE") or pytestconfig.cache.mkdir("compiled"))
    folder.mkdir(exist_ok=True)
    os.environ["XDG_CACHE_HOME"] = str(folder)
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)  # hundreds of processes are started
    worker = os.environ.get("PYTEST_XDIST_WORKER", "gw0")
    build_once(folder, checked_first=int(worker.removeprefix("gw")) % 2 == 1)
    return folder


def build_once(folder, *, checked_first):
    """Build what all kernels of the CPU device need: each of the two kinds in one of pytest's processes."""
    source = Source(folder / "empty.cu", 'extern "C" __global__ void empty() {}', "empty")
    for checked in (checked_first, not checked_first):
        with (folder / f"building-{checked}").open("w") as lock, contextlib.suppress(CompileError):
            fcntl.flock(lock, fcntl.LOCK_EX)
            CpuCompiler(checked=checked).compile(source)


@pytest.fixture(scope="session", params=["cpu", pytest.param("cuda", marks=pytest.mark.gpu)])
def bench(request, own_cache):
    """Both devices, one after the other; the GPU where there is one."""
    config = DeviceConfig(kind=request.param, threads=2)
    device = open_device(config)
    yield Bench(device, compiler_for(config, device.info))
    device.close()


@pytest.fixture
def runner(tmp_path):
    """`python -m runner ...` in an empty folder."""
    return functools.partial(processes.run, tmp_path)


@pytest.fixture(scope="session")
def chromium():
    """A headless Chromium: one for each of pytest's processes. Tests use `browser`, which misses no error."""
    playwright = pytest.importorskip("playwright.sync_api", reason="Playwright is not installed")
    if not CHROMIUM:
        pytest.skip("there is no Chromium here")
    with playwright.sync_playwright() as started:
        opened = started.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield opened
        opened.close()


@pytest.fixture
def browser(chromium):
    """Opens pages, which note what they ask for and what goes wrong in them. The test fails if anything did.

    Wrong is what a script throws, what the page's own policy blocks, a dialog, and any message on the console.
    """
    pages = []

    def new_page(**options):
        page = chromium.new_page(**options)
        pages.append(page)
        page.asked, page.wrong = [], []
        page.context.on("request", lambda request: page.asked.append(request.url))
        page.context.on("console", lambda message: page.wrong.append(message.text))
        page.context.on("weberror", lambda error: page.wrong.append(str(error.error)))
        page.context.on("dialog", lambda dialog: (page.wrong.append(dialog.message), dialog.dismiss()))
        return page

    yield SimpleNamespace(new_page=new_page)
    for page in pages:
        page.close()
    assert [words for page in pages for words in page.wrong] == []


@pytest.fixture
def open_page(browser):
    """Opens a file in a browser's page."""

    def go(path, anchor="", **options):
        page = browser.new_page(**options)
        page.goto(path.as_uri() + anchor)
        return page

    return go
