"""How and where to run: the groups `device` and `timing` as dataclasses that Hydra fills and the engine reads."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field

from runner.errors import Mistake


@dataclass
class DeviceConfig:
    """The group `device`.

    Attributes:
        kind: auto, cuda or cpu.
        index: Which GPU.
        nvcc_options: Further options for nvcc.
        threads: OS threads of the CPU device; 0 for all cores.
        time_limit_s: Seconds after which a launch counts as endless.
    """

    kind: str = "auto"
    index: int = 0
    nvcc_options: list[str] = field(default_factory=list)
    threads: int = 0
    time_limit_s: float = 60.0

    @property
    def key(self) -> tuple[str, ...]:
        """What tells one device of a sweep from another."""
        return tuple(str(v) for v in dataclasses.asdict(self).values())

    def __post_init__(self) -> None:
        if self.kind not in ("auto", "cuda", "cpu"):
            raise Mistake(f"device.kind={self.kind}: one of auto, cuda, cpu is expected")
        for name, least in (("index", 0), ("threads", 0)):
            if getattr(self, name) < least:
                raise Mistake(f"device.{name}={getattr(self, name)}: at least {least} is expected")
        if not 0 < self.time_limit_s <= 86400:
            raise Mistake(f"device.time_limit_s={self.time_limit_s}: seconds above 0, up to 86400, are expected")


@dataclass
class TimingConfig:
    """The group `timing`.

    Attributes:
        samples_cuda: Timed launches of a case on a GPU, 30 or more.
        samples_cpu: Timed launches of a case on the CPU device, 3 or more.
        warmup_ms: Launching before the first sample, in milliseconds; the checked launch counts.
    """

    samples_cuda: int = 30
    samples_cpu: int = 3
    warmup_ms: float = 25.0

    def __post_init__(self) -> None:
        for name, least in (("samples_cuda", 30), ("samples_cpu", 3), ("warmup_ms", 0)):
            if not least <= getattr(self, name) <= 100_000:
                raise Mistake(f"timing.{name}={getattr(self, name)}: {least} to 100000 is expected")

    def samples(self, kind: str) -> int:
        """Timed launches of a case on that kind of device."""
        return self.samples_cuda if kind == "cuda" else self.samples_cpu
