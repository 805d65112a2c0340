"""Opens the checked CPU device (see docs/checked.md)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from runner.device import Compiler, Device, DeviceInfo, Requirements
from runner.device.checked.device import CheckedDevice
from runner.device.cpu import backend as cpu
from runner.device.cpu.backend import is_present
from runner.device.cpu.build import CpuCompiler

if TYPE_CHECKING:
    from runner.device.config import DeviceConfig

__all__ = ["compiler_for", "is_present", "open_device", "refuses", "start_compiler"]


def start_compiler(compiler: str) -> None:
    """Nothing is started ahead: who asks for this device can wait."""


def open_device(config: DeviceConfig) -> Device:
    """Open the device with the configured number of threads and schedules."""
    return CheckedDevice(config.threads, config.schedules, ignore_same_value=config.same_value_races == "ignore")


def compiler_for(config: DeviceConfig, info: DeviceInfo, compiler: str) -> Compiler:  # noqa: ARG001
    """The host's C++ compiler, with instrumentation."""
    return CpuCompiler(limits=config.compile_limits, checked=True)


def refuses(info: DeviceInfo, requirements: Requirements) -> str:
    """The checked device refuses what the CPU device refuses, and what it cannot look into."""
    opaque = requirements.opaque and f"{requirements.opaque}, into which this device cannot look; use device=cpu"
    return cpu.refuses(info, requirements) or opaque
