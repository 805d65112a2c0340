"""The kinds of devices: their names (the values of the column `device`), their properties, and how to open them.

Code outside this package asks here instead of comparing names.
"""

from __future__ import annotations

import contextlib
import importlib
import importlib.util
import platform
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, cast

from runner.errors import DeviceUnavailable, UsageError

if TYPE_CHECKING:
    from runner.device import Compiler, Device, DeviceInfo, Requirements
    from runner.device.config import DeviceConfig

CUDA = "cuda"
CPU = "cpu"
CHECKED = "checked"
RECORDING = "recording"  # the value of the column `device` in rows measured by another tuner; it cannot be opened
AUTO = "auto"  # the first kind below that is present


@dataclass(frozen=True)
class DeviceKind:
    """A kind of device."""

    label: str  # its usual name, for the middle of a sentence
    is_gpu: bool  # otherwise the host runs the kernels, and their times say nothing about a GPU
    compilers: tuple[str, ...] = ()  # the user's choices; empty if the compiler is fixed
    fast_compilers: tuple[str, ...] = ()  # those that take less time for a kernel than its measurement
    automatic: bool = True  # whether `auto` may choose it
    checks: str = ""  # what a run without a GPU checks; {} is replaced by further checks of values
    omissions: str = ""  # what it does not check
    brief: str = ""  # `checks` and `omissions` in a few words
    ordered: bool = True  # whether {} mentions other orders of threads


# The back end of a kind is the module `runner.device.KIND.backend`. `auto` tries them in this order.
KINDS = {
    CUDA: DeviceKind("a GPU", is_gpu=True, compilers=("nvcc", "nvrtc"), fast_compilers=("nvrtc",)),
    CPU: DeviceKind(
        "the CPU device",
        is_gpu=False,
        checks="Checked on the CPU device: values{}, array bounds, barriers, masks, undefined reads.",
        brief="Checked: values{further}, bounds, barriers, masks{races}; not {missing}.",
        omissions="data races that give the correct values in these orders, such as updates of global memory without "
        "atomics; memory fences; speed",
    ),
    CHECKED: DeviceKind(
        "the checked CPU device",
        is_gpu=False,
        automatic=False,
        ordered=False,  # its text has the schedules, which are orders
        brief="Checked: values{further}, races, fences, uninitialized reads, bounds, barriers; not speed.",
        checks="Checked on the checked CPU device, in several schedules: values{}, data races, memory fences and "
        "their scopes, uninitialized reads, array bounds, barriers, masks, undefined reads.",
        omissions="accesses that the compiler merged or removed, inputs that were not tried, speed",
    ),
}
CHOICES = (AUTO, *KINDS)


def is_gpu(kind: str) -> bool:
    """Whether a kind of device runs kernels on a GPU; an unknown kind counts as a GPU."""
    return kind not in KINDS or KINDS[kind].is_gpu


def label(kind: str) -> str:
    """The usual name of a kind of device."""
    if kind == RECORDING:
        return "another tuner's device"
    return KINDS[kind].label if kind in KINDS else kind


def name_of(kind: str, model: str) -> str:
    """The name of a device for readers: a GPU's model if known, otherwise the label of the kind."""
    return model if model and is_gpu(kind) else label(kind)


def caution(kind: str, sizes: str, orders: str, races: str = "") -> str:
    """What a run on a device without a GPU has checked and what it has not; empty for a GPU.

    `sizes` is `at other sizes`, or for how many cases; `orders` is the same for other orders of threads; `races` is the
    sentence on the search for races. Each is empty if it was not tried.
    """
    device = KINDS.get(kind)
    if device is None or not device.checks:
        return ""
    also = [phrase for phrase in (sizes, orders if device.ordered else "") if phrase]
    checked = device.checks.format(f" (also {', and '.join(also)})" if also else "")
    return f"{checked} {races} Not checked: speed." if races else f"{checked} Not checked: {device.omissions}."


def brief_caution(kind: str, sizes: str, orders: str, races: str) -> str:
    """The same as `caution` in a few words, for a terminal; empty for a GPU."""
    device = KINDS.get(kind)
    if device is None or not device.brief:
        return ""
    also = [phrase for phrase in (sizes, orders if device.ordered else "") if phrase]
    missing = [*([] if sizes else ["other sizes"]), *([] if races else ["races"]), "speed"]
    further = "".join(f", {phrase}" for phrase in also)
    return device.brief.format(further=further, races=races and f", {races}", missing=", ".join(missing))


def has_compilers(kind: str) -> bool:
    """Whether a user chooses the compiler for a kind of device."""
    return kind in KINDS and bool(KINDS[kind].compilers)


def compiles_fast(kind: str, compiler: str) -> bool:
    """Whether a compiler takes less time for a kernel than its measurement on a device of this kind."""
    return kind in KINDS and compiler in KINDS[kind].fast_compilers


class Backend(Protocol):
    """The functions of a back end's module. Importing it must work without the device and its libraries.

    A back end sees settings, properties and `Requirements`, never a case or a kernel's declaration.
    """

    def is_present(self, config: DeviceConfig) -> bool:
        """Whether the device seems present, without opening it."""

    def start_opening(self, index: int) -> None:
        """Start to open a GPU in the background; other devices do nothing."""

    def start_compiler(self, compiler: str) -> None:
        """Start in the background what the compiler of this name needs before its first kernel."""

    def open_device(self, config: DeviceConfig) -> Device:
        """Open the device. Raises DeviceUnavailable with the reason and a remedy."""

    def compiler_for(self, config: DeviceConfig, info: DeviceInfo, compiler: str) -> Compiler:
        """The compiler for an open device, by name. Raises DeviceUnavailable if it is not installed."""

    def refuses(self, info: DeviceInfo, requirements: Requirements) -> str:
        """Why the device cannot run a case with these requirements; empty if it can."""


def backend(kind: str) -> Backend:
    """The back end of a kind of device."""
    return cast("Backend", importlib.import_module(f"runner.device.{kind}.backend"))


def _candidates(kind: str) -> tuple[str, ...]:
    """The kinds that `open_device` tries, in order."""
    return tuple(name for name, k in KINDS.items() if k.automatic) if kind == AUTO else (kind,)


def start_opening_gpu(kind: str, index: int) -> None:
    """Start opening the GPU in the background; errors are left to `open_device`."""
    for name in _candidates(kind):
        if KINDS[name].is_gpu:
            backend(name).start_opening(index)


def start_compiler(kind: str, compiler: str) -> None:
    """Start in the background what the compiler of a kind of device needs; errors are left to the compiler."""
    with contextlib.suppress(RuntimeError):  # the program ends already
        backend(kind_ahead(kind)).start_compiler(compiler)


def kind_ahead(kind: str) -> str:
    """The kind that `open_device` will probably open, without loading any library."""
    return (CUDA if importlib.util.find_spec("pycuda") else CPU) if kind == AUTO else kind


def open_device(config: DeviceConfig) -> Device:
    """Open the requested device; `auto` is the first kind that can be opened. Raises DeviceUnavailable otherwise."""
    *first, last = _candidates(config.kind)
    for kind in first:
        with contextlib.suppress(DeviceUnavailable):
            return backend(kind).open_device(config)
    return backend(last).open_device(config)


def kind_of(config: DeviceConfig) -> str:
    """The kind of device that `open_device` would open."""
    *first, last = _candidates(config.kind)
    return next((kind for kind in first if backend(kind).is_present(config)), last)


def compiler_for(config: DeviceConfig, info: DeviceInfo, compiler: str = "") -> Compiler:
    """The named compiler for an open device, by default the kind's first one; for the parent process."""
    return backend(info.kind).compiler_for(config, info, compiler or next(iter(KINDS[info.kind].compilers), ""))


def require_compiler(name: object) -> None:
    """Raise UsageError if no kind of device has a compiler of this name."""
    names = list(dict.fromkeys(name for kind in KINDS.values() for name in kind.compilers))
    if name not in names:
        raise UsageError(f"compiler={name}: expected one of {', '.join(names)}")


def processor() -> str:
    """The model of the host's processor."""
    with contextlib.suppress(OSError):  # not Linux
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()
