"""The configuration's schema, and the way from Hydra's objects to plain ones. Hydra objects stop here.

The schema is made at start: the parameters that the kernels on the search path declare become its keys, so that a
misspelt one is refused before anything is composed.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml
from hydra.core.config_store import ConfigStore
from omegaconf import DictConfig, OmegaConf

from runner.device.opening import kind_of
from runner.errors import UsageError
from runner.kernel import from_yaml
from runner.kernel.case import Case
from runner.kernel.declaration import Kernel
from runner.kernel.parameters import VOCABULARY, canonical
from runner.kernel.reference import find
from runner.kernel.resolve import make
from runner.settings import COMPILERS, DeviceConfig, TimingConfig

_BESIDE = Path(__file__).resolve().parents[1] / "conf"
# In a checkout the configuration lies beside the package; in a wheel, inside it.
CONF = _BESIDE if (_BESIDE / "config.yaml").is_file() else Path(__file__).resolve().parent / "_data" / "conf"


_GROUPS = ("kernel", "device", "timing", "experiment", "compiler", "seed", "record_host", "on_cpu")
EXTRA_PARAMETERS = "further_parameters.yaml"  # in a configuration that was kept: of kernels that were not

_further: list[str] = []  # parameters that kernels on the search path declare beyond the vocabulary; see `register`


@dataclass(frozen=True)
class Job:
    """One case to run, and how.

    Attributes:
        case: What.
        device: Where.
        timing: How it is measured.
        compiler: Of the GPU's kernels: nvcc or nvrtc.
        number: Of Hydra's job, and of its folder.
        search_path: The configuration folders it was composed from, in Hydra's order.
    """

    case: Case
    device: DeviceConfig
    timing: TimingConfig
    compiler: str
    number: int
    search_path: tuple[Path, ...] = ()

    @property
    def key(self) -> tuple[str, ...]:
        """What makes it a run of its own: two jobs of one key are run once."""
        return (self.case.id, *self.device.key, self.compiler, str(self.timing))


def register(search_path: Sequence[Path]) -> None:
    """Make the schema known to Hydra.

    Args:
        search_path: Configuration folders; the parameters of every `kernel/*.yaml` in them become keys.

    Raises:
        UsageError: if a kernel declares a parameter whose name is reserved.
    """
    _further.clear()
    _further.extend(n for n in dict.fromkeys(_declared(search_path)) if n not in VOCABULARY)
    fields: list[tuple[str, Any, Any]] = [
        ("kernel", Any, None),
        ("device", DeviceConfig, field(default_factory=DeviceConfig)),
        ("timing", TimingConfig, field(default_factory=TimingConfig)),
        ("compiler", str, "nvcc"),
        ("seed", int, 0),
        ("record_host", bool, False),
        ("on_cpu", dict[str, Any], field(default_factory=dict)),
        *((word, Any, None) for word in (*VOCABULARY, *_further)),
    ]
    store = ConfigStore.instance()
    # In a group of their own: in the group `kernel` a schema would be matched by kernel=glob(*).
    store.store(group="schema", name="config", node=dataclasses.make_dataclass("Config", fields))
    store.store(group="schema", name="device", node=DeviceConfig)
    store.store(group="schema", name="timing", node=TimingConfig)


def register_here(hydra: DictConfig) -> None:
    """As `register`, in a process that a stock launcher (joblib, submitit) started for a job; elsewhere it was done.

    Args:
        hydra: Hydra's own node for that job.
    """
    if not _further:
        register(folders(hydra))


def parameter_names() -> list[str]:
    """The parameters that a command line can set."""
    return [*VOCABULARY, *_further]


def known_keys() -> list[str]:
    """The keys that a command line can set, for complaints; those of the groups as `device.threads`."""
    of_groups = {"device": DeviceConfig, "timing": TimingConfig}
    within = [f"{group}.{f.name}" for group, node in of_groups.items() for f in dataclasses.fields(node)]
    return [*_GROUPS, *parameter_names(), *within]


def _declared(search_path: Sequence[Path]) -> list[str]:
    names = []
    for path in sorted(
        p
        for folder in search_path
        for p in (*(folder / "kernel").glob("*.yaml"), *(folder / "family").glob("*.yaml"), folder / EXTRA_PARAMETERS)
    ):
        try:
            content = yaml.safe_load(path.read_text(encoding="utf-8"))
        except (OSError, ValueError, RecursionError, yaml.YAMLError):
            continue  # Hydra says what is wrong with it, if it is chosen
        parameters = content.get("parameters") if isinstance(content, dict) else None
        for name, value in parameters.items() if isinstance(parameters, dict) else ():
            names.append(from_yaml.parameter(f"{path.name}: parameters", name, value).name)
    return names


def planned(config: DictConfig, hydra: DictConfig) -> Job:
    """One composed configuration as a case, fully checked.

    Args:
        config: What Hydra composed for one job.
        hydra: Hydra's own node for that job.

    Raises:
        UsageError: if anything in it cannot be understood.
    """
    _require_whole_kernel(hydra.overrides.task)
    plain: Any = OmegaConf.to_container(config, resolve=True)
    kernel = _kernel(str(hydra.runtime.choices.kernel), plain["kernel"], folders(hydra))
    if added := [k for k in plain if k not in _GROUPS and k not in VOCABULARY and k not in _further]:
        raise UsageError(f"+{added[0]}: no kernel on the search path declares a parameter of that name")
    seed = plain["seed"]
    if not 0 <= seed < 2**63:
        raise UsageError(f"seed={seed}: 0 to 2**63-1 is expected")
    if plain["compiler"] not in COMPILERS:
        raise UsageError(f"compiler={plain['compiler']}: one of {', '.join(COMPILERS)} is expected")
    device = OmegaConf.to_object(config.device)
    timing = OmegaConf.to_object(config.timing)
    if not isinstance(device, DeviceConfig) or not isinstance(timing, TimingConfig):
        raise UsageError("the groups device and timing must start from the defaults /schema/device and /schema/timing")
    if plain["compiler"] == "nvrtc" and device.nvcc_options:
        raise UsageError(f"device.nvcc_options={device.nvcc_options}: these are nvcc's, and compiler=nvrtc takes none")
    if plain["on_cpu"] and kind_of(device) == "cpu":
        plain |= _on_cpu(plain["on_cpu"], hydra)
    _require_readable(plain)
    job = 0 if OmegaConf.is_missing(hydra.job, "num") else int(hydra.job.num)
    return Job(make(kernel, plain, seed), device, timing, plain["compiler"], job, folders(hydra))


def _require_readable(plain: Mapping[str, Any]) -> None:
    """Refuse a value that is none, though the kernel does not read its parameter: another kernel of the sweep may."""
    for name, kind in VOCABULARY.items():
        if plain[name] is not None:
            canonical(name, kind, plain[name])


def _on_cpu(values: Mapping[str, Any], hydra: DictConfig) -> dict[str, Any]:
    """What an experiment says of parameters on the CPU device; what the command line sets or sweeps counts more."""
    if unknown := [name for name in values if name not in parameter_names()]:
        raise UsageError(f"on_cpu.{unknown[0]}: no kernel on the search path declares a parameter of that name")
    swept = OmegaConf.select(hydra, "sweeper.params") or {}
    if twice := [name for name in values if name in swept]:
        raise UsageError(f"on_cpu.{twice[0]}: the experiment sweeps {twice[0]}; it cannot be another on the CPU device")
    plain: Any = OmegaConf.to_container(hydra.overrides.task, resolve=False)
    given = {override.lstrip("+").partition("=")[0] for override in plain}
    return {name: value for name, value in values.items() if name not in given}


def folders(hydra: DictConfig) -> tuple[Path, ...]:
    """The configuration folders in the order in which Hydra looks into them."""
    return tuple(Path(s.path) for s in hydra.runtime.config_sources if s.schema == "file")


def _kernel(name: str, composed: Any, folders: tuple[Path, ...]) -> Kernel:
    path = next((f / "kernel" / f"{name}.yaml" for f in folders if (f / "kernel" / f"{name}.yaml").is_file()), None)
    if path is None:
        raise UsageError(f"kernel={name}: there is no kernel/{name}.yaml in {', '.join(map(str, folders))}")
    return _read(name, path, _Content(composed), folders)


@dataclass(frozen=True, eq=False)
class _Content:
    """A kernel's composed YAML. All of them are equal: within a sweep a file has one content."""

    raw: Any

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Content)

    def __hash__(self) -> int:
        return 0


@functools.lru_cache(maxsize=1024)
def _read(name: str, path: Path, content: _Content, folders: tuple[Path, ...]) -> Kernel:
    kernel = from_yaml.read(name, content.raw, path, folders)
    if not kernel.source.read_text(encoding="utf-8").strip():
        raise UsageError(
            f"{path.name}: source: '{kernel.source.name}' is empty; a __global__ function {name} is expected"
        )
    if isinstance(kernel.reference, str):
        try:  # a reference that is not there is a mistake, told before anything runs
            find(kernel)
        except UsageError as e:
            raise UsageError(f"{path.name}: {e}") from None
    return kernel


def _require_whole_kernel(overrides: Any) -> None:
    """Refuse `kernel.grid=1`: it would change what a case is without changing its name."""
    plain: Any = OmegaConf.to_container(overrides, resolve=False)
    for override in plain:
        if override.lstrip("+~").startswith("kernel."):
            raise UsageError(
                f"{override}: a kernel is declared in its YAML; copy it into a folder of your own, change it there, "
                f"and give the folder by --config-dir"
            )
