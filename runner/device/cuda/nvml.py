"""The state of a GPU by NVML: clocks, temperature, power, and why it is slowed down.

NVML is optional: without it, the state is unknown. Reasons are named as in NVML's nvmlClocksEventReasons.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from runner.device import GpuState

REASONS = {
    0x0000000000000004: "sw_power_cap",
    0x0000000000000008: "hw_slowdown",
    0x0000000000000010: "sync_boost",
    0x0000000000000020: "sw_thermal_slowdown",
    0x0000000000000040: "hw_thermal_slowdown",
    0x0000000000000080: "hw_power_brake",
}
SEVERE = frozenset(("hw_slowdown", "sw_thermal_slowdown", "hw_thermal_slowdown", "hw_power_brake"))
LOW_CLOCK = 0.75  # of the highest: below it times are not trusted, whatever the reason (nvbench's threshold)


class Nvml:
    """One GPU, seen by NVML."""

    def __init__(self, bus_id: str) -> None:
        """Find the GPU by its PCI bus id."""
        self._handle: Any = None
        self._highest = 0
        try:
            import pynvml  # noqa: PLC0415  (optional)

            pynvml.nvmlInit()
            self._nvml: Any = pynvml
            self._handle = pynvml.nvmlDeviceGetHandleByPciBusId(bus_id.encode())
            clock = pynvml.nvmlDeviceGetMaxClockInfo(self._handle, pynvml.NVML_CLOCK_SM)
            self._highest = int(clock)  # asked once: it takes 1 ms
        except Exception:  # noqa: BLE001  (NVML may be missing, and raises its own classes)
            return

    def driver_version(self) -> str:
        """Of the driver's package; empty if unknown."""
        return str(self._asked(lambda n, _: n.nvmlSystemGetDriverVersion()) or "")

    def conditions(self) -> GpuState | None:
        """The GPU's state now; `None` if unknown."""
        clock = self._asked(lambda n, h: n.nvmlDeviceGetClockInfo(h, n.NVML_CLOCK_SM))
        if clock is None:
            return None
        bits = self._asked(lambda n, h: n.nvmlDeviceGetCurrentClocksEventReasons(h))
        if bits is None:  # its name in drivers before R535
            bits = self._asked(lambda n, h: n.nvmlDeviceGetCurrentClocksThrottleReasons(h))
        reasons = tuple(name for bit, name in REASONS.items() if (bits or 0) & bit)
        low = clock < LOW_CLOCK * self._highest
        slow = low if bits is None else bool(SEVERE & set(reasons)) or (low and bool(reasons))
        milliwatts = self._asked(lambda n, h: n.nvmlDeviceGetPowerUsage(h))
        return GpuState(
            sm_mhz=int(clock),
            temperature_c=self._asked(lambda n, h: n.nvmlDeviceGetTemperature(h, n.NVML_TEMPERATURE_GPU)),
            power_w=None if milliwatts is None else milliwatts / 1000.0,
            reasons=reasons,
            throttled=slow,
        )

    def _asked(self, question: Callable[[Any, Any], Any]) -> Any:
        if self._handle is None:
            return None
        try:
            return question(self._nvml, self._handle)
        except Exception:  # noqa: BLE001  (this GPU or driver does not answer it)
            return None
