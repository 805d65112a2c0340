"""The configuration's schema, and the checks that turn a composed configuration into a job.

The schema is built at the start. The parameters that kernels on the search path declare become its keys, so that Hydra
refuses a misspelt key before composing.
"""

from __future__ import annotations

import contextlib
import dataclasses
import functools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hydra.core.config_store import ConfigStore
from omegaconf import DictConfig, OmegaConf

from runner.compose import overrides as grammar
from runner.compose.loading import SCHEME
from runner.compose.names import CONF, by_name, nearest
from runner.device.config import DeviceConfig
from runner.device.kinds import is_gpu, kind_of, require_compiler
from runner.errors import KernelMistake, UsageError
from runner.jobs.job import Job, Origin, read_kernel
from runner.jobs.settings import LINES_DEFAULT, RACES_DEFAULT, ProfileConfig, TimingConfig, lines_setting
from runner.kernel.case import Case
from runner.kernel.declaration import VOCABULARY, Kernel, canonical
from runner.kernel.metrics import TIME, Metric, merged, require_rankable
from runner.kernel.resolve import make
from runner.kernel.yaml_parameters import require_parameter_name
from runner.kernel.yaml_reader import MAX_PARAMETERS, read_parameters
from runner.record.sources import EXTRA_PARAMETERS

MAX_CASES = 100_000
MAX_NAMES = 2000  # Hydra composes this many keys in seconds, and ten times as many in minutes

_NODES: dict[str, type[Any]] = {"device": DeviceConfig, "timing": TimingConfig, "profile": ProfileConfig}
_FIELDS: list[tuple[str, Any, Any]] = [
    ("kernel", Any, None),
    *((name, node, field(default_factory=node)) for name, node in _NODES.items()),
    ("compiler", str, "nvcc"),
    ("seed", int, 0),
    ("record_host", bool, False),
    ("on_cpu", dict[str, Any], field(default_factory=dict)),
    ("metrics", dict[str, Any], field(default_factory=dict)),
    ("rank_by", str, TIME),
    ("baseline", str | None, None),
    ("max_cases", int, MAX_CASES),
    ("lines", Any, LINES_DEFAULT),
    ("racecheck", str, RACES_DEFAULT),
    ("search", dict[str, Any], field(default_factory=dict)),
    ("zip", Any, None),  # a dictionary; of this type, `zip={...}` on the command line would need a +
]
KEYS = ("experiment", *(name for name, *_ in _FIELDS))  # those that are no parameter


def register(search_path: Sequence[Path]) -> None:
    """Register the schema with Hydra. The parameters of all kernels on the search path become keys.

    Raises UsageError if the kernels declare too many parameters.
    """
    parameters = dict.fromkeys((*VOCABULARY, *_declared(search_path)))
    if len(parameters) > MAX_NAMES:
        number = f"{len(parameters):,} parameters; at most {MAX_NAMES:,} are allowed"
        raise UsageError(f"the kernels on the search path declare {number}")
    fields = [*_FIELDS, *((word, Any, None) for word in parameters)]
    store = ConfigStore.instance()
    # kernel=glob(*) would match a schema in the group `kernel`.
    store.store(group="schema", name="config", node=dataclasses.make_dataclass("Config", fields))
    for name, node in _NODES.items():
        store.store(group="schema", name=name, node=node)
    parameter_names.cache_clear()


@functools.cache  # the store copies its nodes, and every job needs the names
def parameter_names() -> tuple[str, ...]:
    """The names of the parameters that a command line can set."""
    config: Any = ConfigStore.instance().load("schema/config.yaml").node
    return tuple(str(name) for name in config if name not in KEYS)


def known_keys() -> list[str]:
    """The keys that a command line can set."""
    return [*KEYS, *parameter_names(), *further_keys()]


def further_keys() -> list[str]:
    """The keys of the groups, as `device.threads`."""
    return [f"{group}.{f.name}" for group, node in _NODES.items() for f in dataclasses.fields(node)]


def _declared(search_path: Sequence[Path]) -> Iterator[str]:
    names = ("kernel/*.yaml", "family/*.yaml", EXTRA_PARAMETERS)
    for path in sorted(p for folder in search_path for name in names for p in folder.glob(name)):
        try:
            parameters = read_parameters(path)
        except UsageError:
            continue  # reported if the kernel is chosen
        if not isinstance(parameters, dict) or (len(parameters) > MAX_PARAMETERS and path.name != EXTRA_PARAMETERS):
            continue
        for name in parameters:
            with contextlib.suppress(UsageError):  # reported if the kernel is chosen
                require_parameter_name(f"{path.name}: parameters", name)
                yield name


@dataclass(frozen=True)
class Composed:
    """A composed configuration as plain values. Its groups are checked; the values of a job are not yet."""

    values: Mapping[str, Any]  # resolved, without `hydra`
    kernel: Kernel
    device: DeviceConfig
    timing: TimingConfig
    profile: ProfileConfig
    swept: frozenset[str]  # names that an experiment sweeps
    origin: Origin
    cache: dict[frozenset[str], tuple[Metric, ...]] = field(default_factory=dict)  # metrics by names of parameters

    def metrics_of(self, case: Case) -> tuple[Metric, ...]:
        """The metrics of a case, cached for cases with the same parameters."""
        names = frozenset(name for name, _ in case.parameters)
        if names not in self.cache:
            further = self.values["metrics"]
            self.cache[names] = merged(self.kernel.metrics, further, case.variables, parameter_names())
        return self.cache[names]


def read(config: DictConfig, hydra: DictConfig) -> Composed:
    """Read a composed configuration: the job's part, and Hydra's node.

    Raises UsageError if a group is invalid, or a key is unknown; KernelMistake if the kernel's YAML is invalid.
    """
    values: Any = OmegaConf.to_container(config, resolve=True)
    device, timing, profile = (OmegaConf.to_object(config[group]) for group in ("device", "timing", "profile"))
    if not (
        isinstance(device, DeviceConfig) and isinstance(timing, TimingConfig) and isinstance(profile, ProfileConfig)
    ):
        group = "device" if isinstance(device, dict) else "timing" if isinstance(timing, dict) else "profile"
        file = f"{group}/{hydra.runtime.choices.get(group)}.yaml"
        raise UsageError(f"{file}: its defaults list must begin with /schema/{group}@_here_")
    name, folders, names = str(hydra.runtime.choices.get("kernel")), folders_of(hydra), parameter_names()
    path = _yaml_of(name, folders)
    if path is None:
        raise UsageError(f"kernel={name}: kernel/{name}.yaml not found in {', '.join(map(str, folders))}")
    overrides = grammar.as_written(hydra.overrides.task)
    added = [key for key in values if key not in KEYS and key not in names]
    unknown = [next((o for o in overrides if o.lstrip("+").startswith(f"{key}=")), f"+{key}") for key in added]
    if unknown := [*unknown, *(f"on_cpu.{key}" for key in values["on_cpu"] if key not in names)]:
        raise UsageError(f"{unknown[0]}: no kernel on the search path declares a parameter of that name")
    origin = Origin(folders, tuple(n for n in names if n not in VOCABULARY), values["kernel"])
    swept = frozenset(map(str, OmegaConf.select(hydra, "sweeper.params") or ()))
    if not any(grammar.key_of(text).partition(".")[0] == "zip" for text in overrides):  # an experiment's
        swept |= frozenset(map(str, values["zip"] or ()))
    if (baseline := values["baseline"]) is not None:
        # A part of the kernel's YAML, so that the run folder keeps it.
        values["kernel"]["baseline"] = _baseline(baseline, folders) if baseline != name else ""
    try:
        kernel = read_kernel(name, values["kernel"], path, folders)
    except UsageError as e:
        raise KernelMistake(str(e)) from None
    # The configuration in a sweep's folder has only the kernels that were run.
    if kernel.baseline and CONF in folders and not _yaml_of(kernel.baseline, folders):
        raise KernelMistake(f"{path.name}: baseline: kernel '{kernel.baseline}' not found on the search path")
    return Composed(values, kernel, device, timing, profile, swept, origin)


def _baseline(value: str, folders: Sequence[Path]) -> str:
    """The name of a sweep's baseline. Raises UsageError if there is no such kernel."""
    kernels = by_name(folders, "kernel")
    if value not in kernels and CONF in folders:
        raise UsageError(f"baseline={value}: there is no such kernel; `runner show` lists all{nearest(value, kernels)}")
    return value


def _yaml_of(kernel: str, folders: Sequence[Path]) -> Path | None:
    """A kernel's YAML in the first folder that has one."""
    return next((p for folder in folders if (p := folder / "kernel" / f"{kernel}.yaml").is_file()), None)


def job(composed: Composed, values: Mapping[str, Any], overrides: Sequence[str], number: int) -> Job:
    """Make a job from the configuration that it shares with others, and check all its values.

    `values` are the parameters and the seed that the job sets itself, `overrides` all of its overrides, as written.
    Raises UsageError if a value is invalid; KernelMistake if an expression in the kernel's YAML is.
    """
    for override in overrides:
        if override.lstrip("+~").startswith("kernel."):  # it would change a case but not its id
            instead = "copy its YAML into a folder of your own, and name the folder by --config-dir"
            raise UsageError(f"{override}: an override cannot change a kernel; {instead}")
    plain = {**composed.values, **values}
    if not 0 <= plain["seed"] < 2**63:
        raise UsageError(f"seed={plain['seed']}: expected 0 to 2**63-1")
    compiler, device = plain["compiler"], composed.device
    require_compiler(compiler)
    if compiler == "nvrtc" and device.nvcc_options:
        raise UsageError(f"device.nvcc_options={device.nvcc_options}: only nvcc takes these, not compiler=nvrtc")
    if plain["on_cpu"] and not is_gpu(kind_of(device)):
        if twice := [name for name in plain["on_cpu"] if name in composed.swept]:
            raise UsageError(f"on_cpu.{twice[0]}: the experiment sweeps {twice[0]}; on_cpu cannot set it, too")
        overridden = {grammar.key_of(override) for override in overrides}  # these override the others
        plain |= {name: value for name, value in plain["on_cpu"].items() if name not in overridden}
    for name, kind in VOCABULARY.items():  # also parameters that only other kernels read
        if plain[name] is not None:
            canonical(name, kind, plain[name])
    case = _case(composed.kernel, plain)
    metrics = composed.metrics_of(case)
    kernel = composed.kernel
    amounts = {"bytes": kernel.bytes_read or kernel.bytes_written, "operations": kernel.operations}
    declared = [name for name, amount in amounts.items() if amount is not None]
    require_rankable(plain["rank_by"], metrics, f"kernel {kernel.name}", declared)
    shared = case, device, composed.timing, compiler, number, composed.origin, metrics, plain["rank_by"]
    return Job(*shared, lines=lines_setting(plain["lines"]), racecheck=plain["racecheck"], profile=composed.profile)


def _case(kernel: Kernel, values: Mapping[str, Any]) -> Case:
    try:
        return make(kernel, values, values["seed"])
    except UsageError as e:  # in a value, or in an expression of the YAML
        raise (KernelMistake(str(e)) if str(e).startswith(f"{kernel.yaml.name}: ") else e) from None


def folders_of(hydra: DictConfig) -> tuple[Path, ...]:
    """The configuration folders, in Hydra's order."""
    sources = hydra.runtime.config_sources
    return tuple(dict.fromkeys(Path(source.path) for source in sources if source.schema in (SCHEME, "file")))
