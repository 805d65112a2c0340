"""How and where to run: the groups `device` and `timing` as dataclasses that Hydra fills and the engine reads."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field

from runner.errors import UsageError

COMPILERS = ("nvcc", "nvrtc")


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
            raise UsageError(f"device.kind={self.kind}: one of auto, cuda, cpu is expected")
        for name, least in (("index", 0), ("threads", 0)):
            if getattr(self, name) < least:
                raise UsageError(f"device.{name}={getattr(self, name)}: at least {least} is expected")
        if not 0 < self.time_limit_s <= 86400:
            raise UsageError(f"device.time_limit_s={self.time_limit_s}: seconds above 0, up to 86400, are expected")


@dataclass(frozen=True)
class Protocol:
    """How the cases of a sweep are measured on one kind of device.

    Attributes:
        rounds: How often each case is measured, all the others in between.
        fresh_process: Whether each round has a worker process of its own.
        order_seed: Of the order of the cases, another one in each round.
        warmup_ms: Launching before the first sample of a round; the checked launch counts.
        min_samples: Samples of a round, at least.
        max_samples: And at most.
        min_time_ms: How long a round measures a case at least, flushes included.
        max_time_s: And at most, once there are `min_samples`.
        precision_percent: Half the 95 % interval of the median, in percent of it, at which a round has enough samples.
        hot: Whether launches one behind the other are timed, too, with nothing flushed in between.
    """

    rounds: int
    fresh_process: bool
    order_seed: int
    warmup_ms: float
    min_samples: int
    max_samples: int
    min_time_ms: float
    max_time_s: float
    precision_percent: float
    hot: bool


@dataclass
class TimingConfig:
    """The group `timing`. On the CPU device a fixed number of samples is taken: their times tell nothing of a GPU.

    Attributes: as of `Protocol`, and
        cpu_rounds: `rounds` on the CPU device.
        cpu_samples: Samples of a round on the CPU device.
    """

    rounds: int = 3
    fresh_process: bool = False
    order_seed: int = 0
    warmup_ms: float = 25.0
    min_samples: int = 30
    max_samples: int = 300
    min_time_ms: float = 20.0
    max_time_s: float = 5.0
    precision_percent: float = 0.5
    hot: bool = False
    cpu_rounds: int = 1
    cpu_samples: int = 3

    def __post_init__(self) -> None:
        for name, (least, most) in _LIMITS.items():
            if not least <= getattr(self, name) <= most:  # so that NaN is refused, too
                raise UsageError(f"timing.{name}={getattr(self, name)}: {least} to {most} is expected")
        if self.max_samples < self.min_samples:
            raise UsageError(
                f"timing.max_samples={self.max_samples}: at least min_samples={self.min_samples} is expected"
            )

    def protocol(self, kind: str) -> Protocol:
        """What holds on that kind of device."""
        known = {f.name: getattr(self, f.name) for f in dataclasses.fields(Protocol)}
        if kind == "cpu":
            fixed = {"min_samples": self.cpu_samples, "max_samples": self.cpu_samples, "rounds": self.cpu_rounds}
            known |= {**fixed, "min_time_ms": 0.0}
        return Protocol(**known)


_LIMITS: dict[str, tuple[float, float]] = {
    "rounds": (1, 100), "order_seed": (0, 2**63 - 1), "warmup_ms": (0, 100_000), "min_samples": (30, 100_000),
    "max_samples": (30, 100_000), "min_time_ms": (0, 100_000), "max_time_s": (0, 86_400),
    "precision_percent": (0, 100), "cpu_rounds": (1, 100), "cpu_samples": (3, 100_000),
}  # fmt: skip
