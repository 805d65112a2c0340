"""Which device, and how it is used: the group `device`."""

from __future__ import annotations

import os
from dataclasses import dataclass, field

from runner.device import options
from runner.device.kinds import CHOICES
from runner.device.limits import Limits
from runner.errors import UsageError

MOST_SCHEDULES = 100
SAME_VALUE_RACES = ("hazard", "ignore")
MOST = 4096  # GPUs, and threads of the CPU device


@dataclass
class DeviceConfig:
    """The group `device`."""

    kind: str = "auto"  # or cuda, cpu, checked
    index: int = 0  # which GPU
    nvcc_options: list[str] = field(default_factory=list)
    threads: int = 0  # OS threads of the CPU device; 0 uses all cores
    time_limit_s: float = 60.0  # a launch that takes longer times out
    compile_limit_s: float = 60.0  # one call of the compiler; one that takes longer is a `compile_error`
    compile_limit_gb: float = 4.0  # memory of each of the compiler's processes, 10^9 bytes
    sandbox: bool = False  # whether kernels run in a sandbox (bubblewrap)
    schedules: int = 3  # of the checked CPU device: orders of blocks, warps and lanes in which it looks for races
    same_value_races: str = "hazard"  # of the checked CPU device: or ignore, races of writes of one value

    @property
    def key(self) -> tuple[str, ...]:
        """Identifies the device among those of a sweep."""
        return tuple(str(v) for v in vars(self).values())

    @property
    def compile_limits(self) -> Limits:
        """What one call of the compiler may take."""
        return Limits(self.compile_limit_s, self.compile_limit_gb)

    @property
    def fast_math(self) -> bool:
        """Whether nvcc is told to compute less exactly, whatever the case."""
        return options.is_fast(
            " ".join([*self.nvcc_options, *(os.environ.get(name, "") for name in options.NVCC_FLAGS)])
        )

    def __post_init__(self) -> None:
        if self.kind not in CHOICES:
            raise UsageError(f"device.kind={self.kind}: expected one of {', '.join(CHOICES)}")
        for name in ("index", "threads"):
            if not 0 <= getattr(self, name) <= MOST:
                raise UsageError(f"device.{name}={getattr(self, name)}: expected 0 to {MOST}")
        for name in ("time_limit_s", "compile_limit_s"):
            if not 0 < getattr(self, name) <= 86400:
                raise UsageError(f"device.{name}={getattr(self, name)}: expected seconds above 0, up to 86400")
        if not 0.1 <= self.compile_limit_gb <= 1e6:
            raise UsageError(f"device.compile_limit_gb={self.compile_limit_gb}: expected 0.1 to 1000000")
        if not 1 <= self.schedules <= MOST_SCHEDULES:
            raise UsageError(f"device.schedules={self.schedules}: expected 1 to {MOST_SCHEDULES}")
        if self.same_value_races not in SAME_VALUE_RACES:
            raise UsageError(
                f"device.same_value_races={self.same_value_races}: expected one of {', '.join(SAME_VALUE_RACES)}"
            )
