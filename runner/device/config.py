"""Which device, and how it is used: the group `device`."""

from __future__ import annotations

from dataclasses import dataclass, field

from runner.device import options
from runner.device.kinds import CHOICES
from runner.device.limits import Limits
from runner.errors import UsageError

MAX_SCHEDULES = 100
SAME_VALUE_RACES = ("hazard", "ignore")
L2_LINES = ("dirty", "clean")
MAX_COUNT = 4096  # of GPUs, and of threads of the CPU device


@dataclass
class DeviceConfig:
    """The group `device`."""

    kind: str = "auto"  # or cuda, cpu, checked
    index: int = 0  # which GPU
    nvcc_options: list[str] = field(default_factory=list)
    l2_lines: str = "dirty"  # of a GPU's L2 cache before a timed launch: as the flush writes them, or clean
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
        return options.is_fast(" ".join([*self.nvcc_options, *options.nvcc_environment()]))

    def __post_init__(self) -> None:
        if self.kind not in CHOICES:
            raise UsageError(f"device.kind={self.kind}: expected one of {', '.join(CHOICES)}")
        for name, in_range, expected in (
            ("index", 0 <= self.index <= MAX_COUNT, f"0 to {MAX_COUNT}"),
            ("threads", 0 <= self.threads <= MAX_COUNT, f"0 to {MAX_COUNT}"),
            ("time_limit_s", 0 < self.time_limit_s <= 86400, "seconds above 0, up to 86400"),
            ("compile_limit_s", 0 < self.compile_limit_s <= 86400, "seconds above 0, up to 86400"),
            ("compile_limit_gb", 0.1 <= self.compile_limit_gb <= 1e6, "0.1 to 1000000"),
            ("l2_lines", self.l2_lines in L2_LINES, f"one of {', '.join(L2_LINES)}"),
            ("schedules", 1 <= self.schedules <= MAX_SCHEDULES, f"1 to {MAX_SCHEDULES}"),
            ("same_value_races", self.same_value_races in SAME_VALUE_RACES, f"one of {', '.join(SAME_VALUE_RACES)}"),
        ):
            value = getattr(self, name)
            if not in_range or (isinstance(getattr(type(self), name), int) and not isinstance(value, int)):
                raise UsageError(f"device.{name}={value}: expected {expected}")
