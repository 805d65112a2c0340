"""Open a device, find its compiler, ask what it refuses, and name the host's processor."""

from __future__ import annotations

import contextlib
import importlib
import platform
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, cast

from runner.device import Compiler, Device, DeviceInfo, Requirements
from runner.device.kinds import AUTO, KINDS
from runner.errors import DeviceUnavailable

if TYPE_CHECKING:
    from runner.settings import DeviceConfig


class Backend(Protocol):
    """What the package of a kind of device offers. Importing it must work where the device is missing."""

    def is_present(self, config: DeviceConfig) -> bool:
        """Whether the device could be opened; it is not opened."""
        ...

    def open_device(self, config: DeviceConfig) -> Device:
        """Open the device.

        Raises:
            DeviceUnavailable: with the reason, and what to do about it.
        """
        ...

    def compiler_for(self, config: DeviceConfig, info: DeviceInfo, compiler: str) -> Compiler:
        """The compiler for an open device.

        Raises:
            DeviceUnavailable: if it is not installed.
        """
        ...

    def refuses(self, info: DeviceInfo, wanted: Requirements) -> str:
        """Why the device cannot run such a case; empty if it can."""
        ...


def open_device(config: DeviceConfig) -> Device:
    """Open the requested device; `auto` is the first kind that can be opened.

    Raises:
        DeviceUnavailable: with the reason, and what to do about it.
    """
    *first, last = KINDS if config.kind == AUTO else (config.kind,)
    for kind in first:
        try:
            return _backend(kind).open_device(config)
        except DeviceUnavailable:
            continue
    return _backend(last).open_device(config)


def kind_of(config: DeviceConfig) -> str:
    """The kind of device that would be opened, without opening it."""
    if config.kind != AUTO:
        return config.kind
    *first, last = KINDS
    return next((kind for kind in first if _backend(kind).is_present(config)), last)


def compiler_for(config: DeviceConfig, info: DeviceInfo, compiler: str = "") -> Compiler:
    """The chosen compiler for an open device, or its first one (`Backend.compiler_for`), for the parent process."""
    return _backend(info.kind).compiler_for(config, info, compiler or next(iter(KINDS[info.kind].compilers), ""))


def refusal(info: DeviceInfo, wanted: Requirements) -> str:
    """Why an open device cannot run such a case; empty if it can."""
    return _backend(info.kind).refuses(info, wanted)


def _backend(kind: str) -> Backend:
    return cast("Backend", importlib.import_module(f"runner.device.{kind}"))


def processor() -> str:
    """The model of the host's processor."""
    with contextlib.suppress(OSError):  # not Linux
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()
