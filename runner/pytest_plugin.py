"""A plugin of pytest: the fixture `check_kernel` judges a kernel in a test.

    def test_saxpy(check_kernel):
        check_kernel("saxpy", size=1000)

pytest imports this module in every run of an environment that has the runner, so it imports nothing else before a test
uses the fixture. docs/python.md has the options.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from runner.api.own_kernel import Kernel
    from runner.api.run import Run

DEVICE = "checked"
MAX_PROBLEMS = 5  # in one message


def pytest_addoption(parser: pytest.Parser) -> None:
    """Called by pytest: the options of the command line and of the ini-file."""
    group = parser.getgroup("kernels", "CUDA kernels (the fixture check_kernel)")
    device = f"where check_kernel runs: checked (finds races, too), cpu, cuda, auto; default: {DEVICE}"
    group.addoption("--kernel-device", metavar="DEVICE", help=device)
    group.addoption(
        "--kernel-config-dir", metavar="DIR", action="append", help="a folder with kernel/NAME.yaml; may be repeated"
    )
    parser.addini("kernel_device", device, default=DEVICE)
    parser.addini("kernel_config_dir", "folders with kernel/NAME.yaml, relative to this file", type="paths", default=[])
    parser.addini("kernel_overrides", "overrides of every check_kernel, such as timing=quick", type="args", default=[])


class CheckKernel:
    """Judges kernels by the options of pytest. The fixture `check_kernel` gives one to a test."""

    def __init__(self, config: pytest.Config, folder: Path) -> None:
        """Runs go to numbered folders in `folder`."""
        self._config, self._folder, self._number = config, folder, 0

    def __call__(
        self,
        kernel: str | Kernel | Iterable[str | Kernel] | None = None,
        *,
        overrides: str | Iterable[str] = (),
        **values: Any,
    ) -> Run:
        """Run a kernel, and fail the test unless every case is correct, or skipped for a reason of its own.

        Of each kernel at least one case must be correct.

        Args:
            kernel: As for `runner.sweep`.
            overrides: As for `runner.sweep`, after those of the ini-file.
            **values: As for `runner.sweep`. `device`, `config_dir` and `folder` replace those of the options.

        Returns:
            The run.
        """
        __tracebackhide__ = True
        import runner  # noqa: PLC0415 - see the module's docstring

        self._number += 1
        given = self._overrides(overrides)
        if kernel is None and not given:
            pytest.fail("check_kernel: expected the name of a kernel, or overrides that choose one", pytrace=False)
        options: dict[str, Any] = {
            "device": self._device(),
            "config_dir": self._config_dirs(),
            "folder": self._next_folder(),
        } | values
        run, wrong = None, ""
        try:
            run = runner.sweep(kernel, quiet=True, overrides=[*self._own_overrides(), *given], **options)
            wrong = unchecked(run) if run.ok else message(run)
        except runner.RunnerError as e:  # one sentence, which needs no traceback
            wrong = str(e)
            if "unknown kernel" in wrong and not options["config_dir"]:
                wrong += ", as `kernel_config_dir` in the ini-file and --kernel-config-dir do"
        if run is None or wrong:
            pytest.fail(wrong, pytrace=False)
        return run

    def _overrides(self, overrides: Any) -> list[str]:
        if not isinstance(overrides, Iterable):
            pytest.fail(f"check_kernel: overrides={overrides!r}: expected a text KEY=VALUE, or several", pytrace=False)
        return [overrides] if isinstance(overrides, str) else list(overrides)

    def _own_overrides(self) -> list[str]:
        """Those of the ini-file."""
        try:
            return list(self._config.getini("kernel_overrides"))
        except ValueError as e:  # of shlex
            pytest.fail(f"kernel_overrides in {self._config.inipath}: {e}", pytrace=False)

    def _device(self) -> str:
        return str(self._config.getoption("--kernel-device") or self._config.getini("kernel_device"))

    def _config_dirs(self) -> list[str]:
        """Those of the command line are relative to where pytest was started, those of the ini-file to that file."""
        given = self._config.getoption("--kernel-config-dir") or ()
        here = self._config.invocation_params.dir
        return [*(str(here / name) for name in given), *map(str, self._config.getini("kernel_config_dir"))]

    def _next_folder(self) -> Path:
        return self._folder / f"kernel-run-{self._number}"


def unchecked(run: Run) -> str:
    """The kernels of which all cases were skipped, each with a reason; empty if there is none."""
    lines = []
    for kernel, rows in run.table.groupby("kernel", sort=False):
        if not (rows["status"] == "ok").any():
            lines.append(f"{kernel}: no case was checked: {rows['reason'].iloc[0]}")
    return "\n".join([*lines, f"Report: {run.report}"]) if lines else ""


def message(run: Run) -> str:
    """What is wrong with a run: a line for each failing case, with the finding's file and line, and the report."""
    problems = run.problems
    more = len(problems) - MAX_PROBLEMS
    lines = [*problems[:MAX_PROBLEMS], *([f"{more} more cases failed"] if more > 0 else [])]
    return "\n".join([*(lines or [run.verdict]), f"Report: {run.report}"])


@pytest.fixture
def check_kernel(pytestconfig: pytest.Config, tmp_path: Path) -> CheckKernel:
    """Judge a kernel: `check_kernel("saxpy", size=1000)` fails the test if a case is not correct."""
    return CheckKernel(pytestconfig, tmp_path)
