"""What takes a while, begun while the rest of a sweep is still being read: opening the device, compiling for it."""

from __future__ import annotations

from runner.config import Job
from runner.device import DeviceInfo
from runner.device.opening import compiler_for
from runner.errors import CompileError, DeviceUnavailable
from runner.kernel.case import Case
from runner.sweep.compilation import Compilation
from runner.sweep.worker import Worker


class Prefetch:
    """The worker and the compilation of the cases that are run like the first one."""

    def __init__(self, first: Job, count: int) -> None:
        """Start the worker.

        Args:
            first: A case; others are compiled ahead if device and compiler are the same.
            count: How many cases there may be.
        """
        self._like = (first.device, first.compiler)
        self._count = count
        self._waiting: list[Job] = []
        self.worker = Worker(first.device)
        self.compilation: Compilation | None = None

    def fits(self, planned: Job) -> bool:
        """Whether a case is run on this device, with this compiler."""
        return (planned.device, planned.compiler) == self._like

    def submit(self, planned: Job) -> None:
        """Compile a case's variant as soon as the device is open. What is wrong with that, the engine will tell."""
        if self.fits(planned):
            self._waiting.append(planned)
        if not self.worker.opened:
            return
        try:
            info = self.worker.info
            if self.compilation is None:
                device, compiler = self._like
                self.compilation = Compilation(compiler_for(device, info, compiler), self._count)
        except (DeviceUnavailable, CompileError):
            return
        while self._waiting:
            case = self._waiting.pop()
            if not reason_to_skip(case.case, info):
                self.compilation.begin(case.case.source())

    def close(self) -> None:
        """End what was begun."""
        if self.compilation:
            self.compilation.close()
        self.worker.kill()


def reason_to_skip(case: Case, info: DeviceInfo) -> str:
    """Why the case cannot be run on this device; empty if it can."""
    kernel = case.kernel
    if case.excluded:
        return case.excluded
    if info.kind == "cuda" and int(info.arch.removeprefix("sm_")) < kernel.min_arch:
        return f"{kernel.name} needs sm_{kernel.min_arch}, this GPU is {info.arch}"
    if info.kind == "cuda" and case.hazard:
        return f"a counterexample, undefined on a GPU: {case.hazard}; device=cpu shows it"
    if info.kind == "cpu" and kernel.gpu_only:
        return f"it runs on a GPU only: {kernel.gpu_only}; device=cuda runs it"
    if info.kind == "cpu" and case.variables["cache"] != "none":
        return f"cache={case.variables['cache']}: the CPU device has no on-chip memory to divide up"
    return ""
