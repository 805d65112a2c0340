"""A job: one case, and how to run it. Hydra composes jobs; a sweep's folder gives them back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from runner.device import cache
from runner.device.config import DeviceConfig
from runner.errors import UsageError
from runner.jobs.settings import RACES, RACES_DEFAULT, ProfileConfig, Protocol, TimingConfig
from runner.kernel import from_yaml
from runner.kernel.case import Case
from runner.kernel.declaration import Kernel
from runner.kernel.metrics import TIME, Metric
from runner.kernel.reference import find

_PACKAGE = Path(__file__).resolve().parents[1]
_BESIDE = _PACKAGE.parent / "conf"
# A checkout has the configuration beside the package; a wheel has it inside.
CONF = _BESIDE if (_BESIDE / "config.yaml").is_file() else _PACKAGE / "_data" / "conf"

LAUNCHERS = ("batch", "gpus", "slurm")
"""The launchers that get all jobs at once, so that they measure those side by side that are compared."""


@dataclass(frozen=True)
class Origin:
    """What a job was composed from; `runner.record.sources` keeps it."""

    folders: tuple[Path, ...] = ()  # of the configuration, in Hydra's order
    parameters: tuple[str, ...] = ()  # names that kernels in these folders declare beyond the vocabulary
    kernel: Mapping[str, Any] = field(default_factory=dict)  # the composed content of the kernel's YAML


@dataclass(frozen=True)
class Job:
    """One case to run, where, and how to measure it."""

    case: Case
    device: DeviceConfig
    timing: TimingConfig
    compiler: str  # for a GPU: nvcc or nvrtc
    number: int  # of Hydra's job; names its folder
    origin: Origin = field(default_factory=Origin, compare=False, repr=False)
    metrics: tuple[Metric, ...] = field(default=(), compare=False)  # of its kernel and of the experiment
    rank_by: str = field(default=TIME, compare=False)  # a column or a metric
    lines: bool = field(default=True, compare=False)  # whether what each line costs is counted
    racecheck: str = field(default=RACES_DEFAULT, compare=False)  # or all, none: in which variants races are looked for
    copy: int = 0  # which of the sweep's GPUs measures it, where each measures all cases
    profile: ProfileConfig = field(default_factory=ProfileConfig, compare=False)
    look: int = 0  # samples of a search's look at a case, in place of the whole protocol; 0: the whole

    def __post_init__(self) -> None:
        if self.racecheck not in RACES:
            raise UsageError(f"racecheck={self.racecheck}: expected one of {', '.join(RACES)}")

    def protocol(self, kind: str) -> Protocol:
        """How a kind of device measures the case."""
        whole = self.timing.protocol(kind)
        return whole.look(self.look) if self.look else whole

    @property
    def key(self) -> tuple[str, ...]:
        """Identifies the run: two jobs with one key are run once."""
        copy = (f"copy {self.copy}",) if self.copy else ()
        return (self.case.id, *self.device.key, self.compiler, str(self.timing), *copy)

    @property
    def asked(self) -> dict[str, Any]:
        """The device, the compiler, the timing and the profile that the configuration asks for, as plain values."""
        further: dict[str, Any] = {"compiler": self.compiler, "lines": self.lines, "racecheck": self.racecheck}
        further["timing"] = asdict(self.timing)
        if self.profile.asks:
            further["profile"] = asdict(self.profile)
        return {**asdict(self.device), **further}


def read_kernel(name: str, content: Any, path: Path, folders: Sequence[Path] = ()) -> Kernel:
    """Read a kernel from its YAML, and find its source and its reference; its family is in one of `folders`.

    Anything wrong with it is a `UsageError`, before anything runs.
    """
    kernel = from_yaml.read(name, content, path, folders)
    if not cache.read(kernel.source).strip():
        raise UsageError(
            f"{path.name}: source: '{kernel.source.name}' is empty; it must define the __global__ function {name}"
        )
    if isinstance(kernel.reference, str):
        try:
            find(kernel)
        except UsageError as e:
            raise UsageError(f"{path.name}: {e}") from None
    return kernel
