"""Open a device, find its compiler, and ask what it refuses."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any, Protocol

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
    """Open the device that is asked for; `auto` is the first kind that can be opened.

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
    """The compiler for an open device; it runs in the parent process.

    Args:
        config: Of the device.
        info: Of the device, open.
        compiler: The user's choice, where the kind of device offers one; by default its first.

    Raises:
        DeviceUnavailable: if it is not installed.
    """
    return _backend(info.kind).compiler_for(config, info, compiler or next(iter(KINDS[info.kind].compilers), ""))


def refusal(info: DeviceInfo, wanted: Requirements) -> str:
    """Why an open device cannot run such a case; empty if it can."""
    return _backend(info.kind).refuses(info, wanted)


def _backend(kind: str) -> Backend:
    package: Any = importlib.import_module(f"runner.device.{kind}")
    found: Backend = package
    return found
