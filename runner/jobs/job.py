"""A job: one case and how to run it. `compose` makes jobs from YAML, `record.stored_sweep` from a run folder.

Also what both of them need: the names of the launchers, and `read_kernel`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from runner.device import cache
from runner.device.config import DeviceConfig
from runner.errors import UsageError
from runner.jobs.settings import LINES_DEFAULT, RACES, RACES_DEFAULT, ProfileConfig, Protocol, TimingConfig
from runner.kernel import from_yaml, reference_file
from runner.kernel.case import Case
from runner.kernel.declaration import Kernel
from runner.kernel.metrics import TIME, Metric

LAUNCHERS = ("batch", "gpus", "slurm")
"""The launchers. Each gets all jobs at once, so that it can measure compared cases side by side."""


@dataclass(frozen=True)
class Origin:
    """The configuration from which a job was composed. `runner.record.sources` copies it into the run folder."""

    folders: tuple[Path, ...] = ()  # configuration folders, in Hydra's order
    parameters: tuple[str, ...] = ()  # names that kernels in these folders declare beyond the vocabulary
    kernel: Mapping[str, Any] = field(default_factory=dict)  # the composed content of the kernel's YAML


@dataclass(frozen=True)
class Job:
    """One case, the device to run it on, and how to measure it."""

    case: Case
    device: DeviceConfig
    timing: TimingConfig
    compiler: str  # nvcc or nvrtc; used on a GPU
    number: int  # the job's number, which names its folder
    origin: Origin = field(default_factory=Origin, compare=False, repr=False)
    metrics: tuple[Metric, ...] = field(default=(), compare=False)  # those of its kernel and of the experiment
    rank_by: str = field(default=TIME, compare=False)  # a column or a metric
    lines: str = field(default=LINES_DEFAULT, compare=False)  # cases whose lines are counted: one of `LINES`
    racecheck: str = field(default=RACES_DEFAULT, compare=False)  # variants that are checked for races: one of `RACES`
    copy: int = 0  # number of the GPU that measures it, if each GPU measures all cases; otherwise 0
    profile: ProfileConfig = field(default_factory=ProfileConfig, compare=False)
    look: int = 0  # samples of a search's short measurement; 0: the whole protocol

    def __post_init__(self) -> None:
        if self.racecheck not in RACES:
            raise UsageError(f"racecheck={self.racecheck}: expected one of {', '.join(RACES)}")

    def protocol(self, kind: str) -> Protocol:
        """The protocol by which a kind of device measures the case."""
        whole = self.timing.protocol(kind)
        return whole.look(self.look) if self.look else whole

    @property
    def key(self) -> tuple[str, ...]:
        """Identifies the measurement: of jobs with equal keys only the first is run."""
        copy = (f"copy {self.copy}",) if self.copy else ()
        return (self.case.id, *self.device.key, self.compiler, str(self.timing), *copy)

    @property
    def requested(self) -> dict[str, Any]:
        """The requested device, compiler, timing and profile as plain values, for JSON."""
        profile = {"profile": asdict(self.profile)} if self.profile.needs_profiling else {}
        plain = {"compiler": self.compiler, "lines": self.lines, "racecheck": self.racecheck}
        return {**asdict(self.device), **plain, "timing": asdict(self.timing), **profile}


def read_kernel(name: str, content: Any, path: Path, folders: Sequence[Path] = ()) -> Kernel:
    """Read a kernel with this name from the parsed content of a YAML, and check its source and its reference.

    One of the configuration folders has its family. Raises UsageError if the YAML, source or reference is invalid.
    """
    kernel = from_yaml.read(name, content, path, folders)
    if empty := next((source for source in kernel.sources if not cache.read(source).strip()), None):
        raise UsageError(f"{path.name}: source: '{empty.name}' is empty; it must define the __global__ function {name}")
    if isinstance(kernel.reference, str):
        try:
            reference_file.check(kernel)
        except UsageError as e:
            raise UsageError(f"{path.name}: {e}") from None
    return kernel
