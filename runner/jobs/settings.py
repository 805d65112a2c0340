"""The configuration groups `timing` and `profile` as dataclasses: how cases are measured."""

from __future__ import annotations

import dataclasses
import re
from dataclasses import dataclass, field
from typing import Any

from runner.device.kinds import is_gpu
from runner.errors import UsageError

SANITIZERS = ("memcheck", "racecheck", "initcheck", "synccheck")
RACES_DEFAULT, RACES_ALL, RACES_NONE = RACES = ("default", "all", "none")  # variants that are checked for races
LINES_DEFAULT, LINES_FASTEST, LINES_ALL, LINES_NONE = LINES = ("default", "fastest", "all", "none")
"""The cases whose lines are counted. By default the fastest case of each kernel, as far as the time suffices."""
SHARE = 0.10  # of a sweep's time, which the work that nobody asked for may take after verdicts and times
PROFILED = ("all", "tied", "fastest")  # cases that are profiled


def lines_setting(value: Any) -> str:
    """Parse the value of `lines`: one of `LINES`; true stands for all, and false for none.

    Raises UsageError otherwise.
    """
    text = str(value).lower()
    text = {"true": LINES_ALL, "false": LINES_NONE}.get(text, text)
    if text not in LINES:
        raise UsageError(f"lines={value}: expected one of {', '.join(LINES)}")
    return text


@dataclass
class Protocol:
    """How one kind of device measures the cases of a sweep."""

    rounds: int = 3  # how often each case is measured; a round measures every case once
    fresh_process: bool = False  # whether each round starts a new worker process
    order_seed: int = 0  # seed of the order of the cases, which differs from round to round
    warmup_ms: float = 25.0  # time of launches before the first sample of a round, the checked launch included
    min_samples: int = 30  # per round
    max_samples: int = 300
    min_time_ms: float = 20.0  # least time that a round spends on a case, flushes included
    max_time_s: float = 5.0  # most time that a round spends on a case, once it has `min_samples`
    precision_percent: float = 0.5  # a round stops once half the 95 % interval of the median is at most this share
    hot: bool = False  # whether to also time launches back to back, without flushes
    check_sizes: bool = True  # whether a correct kernel is checked at other sizes before it is timed

    def look(self, samples: int) -> Protocol:
        """The protocol of a search's short measurement: one round of few samples, with proportionally less warm-up."""
        warmup_ms = self.warmup_ms * samples / self.min_samples
        once = dataclasses.replace(self, rounds=1, fresh_process=False, hot=False, warmup_ms=warmup_ms)
        return dataclasses.replace(once, min_samples=samples, max_samples=samples)


@dataclass
class TimingConfig(Protocol):
    """The group `timing`. The CPU device takes a fixed number of samples, since its times say nothing about a GPU."""

    cpu_rounds: int = 1
    cpu_samples: int = 1  # of a round

    def __post_init__(self) -> None:
        for name, (least, most) in LIMITS.items():
            if not least <= (value := getattr(self, name)) <= most:  # also refuses NaN
                raise UsageError(f"timing.{name}={value}: expected {least} to {most}")
            if isinstance(getattr(type(self), name), int) and not isinstance(value, int):  # of a damaged folder
                raise UsageError(f"timing.{name}={value}: expected an integer")
        if self.max_samples < self.min_samples:
            raise UsageError(f"timing.max_samples={self.max_samples}: expected min_samples={self.min_samples} or more")

    def protocol(self, kind: str) -> Protocol:
        """The protocol for a kind of device."""
        values = {f.name: getattr(self, f.name) for f in dataclasses.fields(Protocol)}
        if not is_gpu(kind):
            samples = {"min_samples": self.cpu_samples, "max_samples": self.cpu_samples}
            values |= {**samples, "rounds": self.cpu_rounds, "min_time_ms": 0.0, "warmup_ms": 0.0}
        return Protocol(**values)


LIMITS: dict[str, tuple[float, float]] = {
    "rounds": (1, 100), "order_seed": (0, 2**63 - 1), "warmup_ms": (0, 100_000), "min_samples": (30, 100_000),
    "max_samples": (30, 100_000), "min_time_ms": (0, 100_000), "max_time_s": (0, 86_400),
    "precision_percent": (0, 100), "cpu_rounds": (1, 100), "cpu_samples": (1, 100_000),
}  # fmt: skip


@dataclass
class ProfileConfig:
    """The group `profile`: further measurements after the last round. It does not affect a case's identity."""

    metrics: Any = field(default_factory=list)  # names of Nsight Compute, a list or one; `default`: a useful selection
    cases: str = "all"  # one of `PROFILED`
    roofline: bool = False  # whether to measure the GPU's ceilings
    sanitizer: Any = False  # true, false or a list of compute-sanitizer's tools
    energy: Any = False  # whether to measure the energy of a launch: true, false, or the cases, one of `PROFILED`
    code: bool = True  # whether to keep the machine code

    def __post_init__(self) -> None:
        if self.cases not in PROFILED:
            raise UsageError(f"profile.cases={self.cases}: expected one of {', '.join(PROFILED)}")
        if self.energy not in (True, False, *PROFILED):
            raise UsageError(f"profile.energy={self.energy}: expected true, false, {', '.join(PROFILED)}")
        metrics = self.metrics if isinstance(self.metrics, list) else [self.metrics]
        self.metrics = [str(m) for m in metrics if m is not None]
        if bad := next((m for m in self.metrics if not re.fullmatch(r"default|[a-z0-9]+__[A-Za-z0-9_.]+", m)), None):
            raise UsageError(f"profile.metrics={bad}: expected `default`, or metrics such as dram__bytes_read.sum")
        tools = self.sanitizer if isinstance(self.sanitizer, list) else [self.sanitizer]
        if bad := next((t for t in tools if t not in (*SANITIZERS, True, False)), None):
            raise UsageError(f"profile.sanitizer={bad}: expected true, false or a list of {', '.join(SANITIZERS)}")
        self.sanitizer = [t for t in SANITIZERS if t in tools or True in tools]

    @property
    def needs_profiling(self) -> bool:
        """Whether metrics, the roofline, compute-sanitizer or energy is requested."""
        return bool(self.metrics or self.roofline or self.sanitizer or self.energy)
