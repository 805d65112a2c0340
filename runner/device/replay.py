"""The kind of device `replay`: a recording in place of a device. `runner.sweep.replay` reads it; nothing is opened."""

from __future__ import annotations

from typing import TYPE_CHECKING, NoReturn

from runner.errors import DeviceUnavailable

if TYPE_CHECKING:
    from runner.device import DeviceInfo, Requirements
    from runner.settings import DeviceConfig


def is_present(config: DeviceConfig) -> bool:
    """Whether a recording is named."""
    return bool(config.recording)


def open_device(config: DeviceConfig) -> NoReturn:
    """Refuse: a recording cannot launch a kernel."""
    raise DeviceUnavailable(f"device=replay: {config.recording or 'a recording'} has results and runs no kernel")


def compiler_for(config: DeviceConfig, info: DeviceInfo, compiler: str) -> NoReturn:
    """Refuse: a recording compiles nothing."""
    _ = info, compiler
    open_device(config)


def refuses(info: DeviceInfo, wanted: Requirements) -> str:
    """Nothing: what a recording lacks is said case by case."""
    _ = info, wanted
    return ""
