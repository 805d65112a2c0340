"""The kinds of devices: their names, which stand in the column `device`, and how a device of a kind is opened.

Code outside this package asks here instead of comparing with a name.
"""

from __future__ import annotations

import contextlib
import importlib
import platform
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, cast

from runner.errors import DeviceUnavailable

if TYPE_CHECKING:
    from runner.device import Compiler, Device, DeviceInfo, Requirements
    from runner.device.config import DeviceConfig

CUDA = "cuda"
CPU = "cpu"
CHECKED = "checked"
RECORDING = "recording"  # the column `device` of rows that another tuner has measured; it cannot be opened
AUTO = "auto"  # the first kind below that is present


@dataclass(frozen=True)
class DeviceKind:
    """A kind of device."""

    label: str  # its usual name, for the middle of a sentence
    is_gpu: bool  # otherwise the host runs the kernels, and their times say nothing about a GPU
    compilers: tuple[str, ...] = ()  # that a user can choose between; empty if there is no choice
    automatic: bool = True  # `auto` may choose it
    checked: str = ""  # what a run without a GPU has checked; {} is what values were checked for besides
    unchecked: str = ""  # and what not
    ordered: bool = True  # whether the former says of other orders of threads when they were tried


# The back end of a kind is the module `runner.device.KIND.backend`. `auto` tries them in this order.
KINDS = {
    CUDA: DeviceKind("a GPU", is_gpu=True, compilers=("nvcc", "nvrtc")),
    CPU: DeviceKind(
        "the CPU device",
        is_gpu=False,
        checked="Checked on the CPU device: values{}, array bounds, barriers, masks, undefined reads.",
        unchecked="data races that give the right values in these orders, such as updates of global memory without "
        "atomics; memory fences; speed",
    ),
    CHECKED: DeviceKind(
        "the checked CPU device",
        is_gpu=False,
        automatic=False,
        ordered=False,  # it says of schedules, which are orders
        checked="Checked on the checked CPU device, in several schedules: values{}, data races, memory fences and "
        "their scopes, uninitialized reads, array bounds, barriers, masks, undefined reads.",
        unchecked="accesses that the compiler merged or removed, inputs that were not tried, speed",
    ),
}
CHOICES = (AUTO, *KINDS)
_AUTOMATIC = tuple(name for name, kind in KINDS.items() if kind.automatic)


def is_gpu(kind: str) -> bool:
    """Whether a kind of device runs kernels on a GPU; an unknown kind counts as one."""
    return kind not in KINDS or KINDS[kind].is_gpu


def label(kind: str) -> str:
    """The usual name of a kind of device."""
    if kind == RECORDING:
        return "another tuner's device"
    return KINDS[kind].label if kind in KINDS else kind


def name_of(kind: str, model: str) -> str:
    """What a reader calls a device: a GPU by its model, if that is known, and others by their kind."""
    return model if model and is_gpu(kind) else label(kind)


def caution(kind: str, sizes: str, orders: str, races: str = "") -> str:
    """What a run on a kind of device without a GPU has checked, and what not; empty for a GPU.

    Args:
        kind: The kind.
        sizes: `at other sizes`, or for how many cases; empty if there were none.
        orders: The same for other orders of threads.
        races: The sentence that says where races were looked for; empty if they were not.
    """
    one = KINDS.get(kind)
    if one is None or not one.checked:
        return ""
    also = [words for words in (sizes, orders if one.ordered else "") if words]
    checked = one.checked.format(f" (also {', and '.join(also)})" if also else "")
    return f"{checked} {races} Not checked: speed." if races else f"{checked} Not checked: {one.unchecked}."


def has_compilers(kind: str) -> bool:
    """Whether a user chooses the compiler for a kind of device."""
    return kind in KINDS and bool(KINDS[kind].compilers)


class Backend(Protocol):
    """What the back end of a kind of device offers. Importing it must work where the device is missing."""

    def is_present(self, config: DeviceConfig) -> bool:
        """Whether the device could be opened; it is not opened."""

    def prepare(self, index: int) -> None:
        """Begin to open a device in the background; only hardware does."""

    def open_device(self, config: DeviceConfig) -> Device:
        """Open the device, or raise a `DeviceUnavailable` with the reason, and what to do about it."""

    def compiler_for(self, config: DeviceConfig, info: DeviceInfo, compiler: str) -> Compiler:
        """The compiler for an open device; `DeviceUnavailable` if it is not installed."""

    def refuses(self, info: DeviceInfo, wanted: Requirements) -> str:
        """Why the device cannot run such a case; empty if it can."""


def backend(kind: str) -> Backend:
    """The back end of a kind of device."""
    return cast("Backend", importlib.import_module(f"runner.device.{kind}.backend"))


def prepare(kind: str, index: int) -> None:
    """Let hardware that may be opened next begin already; nothing is wrong yet if there is none."""
    for name in _AUTOMATIC if kind == AUTO else (kind,):
        if KINDS[name].is_gpu:
            backend(name).prepare(index)


def open_device(config: DeviceConfig) -> Device:
    """Open the requested device; `auto` is the first kind that can be opened. `DeviceUnavailable` if there is none."""
    *first, last = _AUTOMATIC if config.kind == AUTO else (config.kind,)
    for kind in first:
        with contextlib.suppress(DeviceUnavailable):
            return backend(kind).open_device(config)
    return backend(last).open_device(config)


def kind_of(config: DeviceConfig) -> str:
    """The kind of device that would be opened, without opening it."""
    if config.kind != AUTO:
        return config.kind
    *first, last = _AUTOMATIC
    return next((kind for kind in first if backend(kind).is_present(config)), last)


def compiler_for(config: DeviceConfig, info: DeviceInfo, compiler: str = "") -> Compiler:
    """The chosen compiler for an open device, or its first one, for the parent process."""
    return backend(info.kind).compiler_for(config, info, compiler or next(iter(KINDS[info.kind].compilers), ""))


def processor() -> str:
    """The model of the host's processor."""
    with contextlib.suppress(OSError):  # not Linux
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()
