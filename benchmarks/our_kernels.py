"""Our kernels as contenders on the others' data, and the search for our fastest configuration.

`swept_results` sweeps with `python -m runner` and reads its results.csv. `quickest` times candidates in this process
and checks each on the GPU; this is for large outputs, which the runner's check on the host takes seconds for. The
chosen configuration is then measured again beside the others.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import yaml
from numpy.typing import NDArray
from side_by_side import Contender, alternate, progress, tried
from sweeps import stop, swept

from runner.compose.names import CONF
from runner.device import Launch, Role
from runner.errors import CompileError, UsageError
from runner.kernel import from_yaml
from runner.kernel.arrays import cached, fill
from runner.kernel.case import ArraySpec, Case, ScalarSpec
from runner.kernel.declaration import Kernel
from runner.kernel.resolve import make

SAMPLES = 15  # of a candidate


@dataclass(frozen=True)
class Held:
    """Memory as an argument of a launch.

    Attributes:
        pointer: Its address on the GPU.
        role: As in a kernel's declaration.
        tensor: Keeps the memory alive.
    """

    pointer: int
    role: Role
    tensor: Any = None


def held(tensor: Any, role: Role) -> Held:
    """A tensor as an argument of a launch."""
    return Held(tensor.data_ptr(), role, tensor)


def case_of(kernel: str, requested: Mapping[str, object]) -> Case:
    """A case of one of our kernels; parameters that it does not read are ignored.

    Raises:
        UsageError: if it cannot be.
    """
    case = make(_kernel(kernel), requested, 0)
    if case.excluded:
        raise UsageError(f"{case.label}: {case.excluded}")
    return case


@functools.cache
def _kernel(name: str) -> Kernel:
    path = CONF / "kernel" / f"{name}.yaml"
    return from_yaml.read(name, yaml.safe_load(path.read_text(encoding="utf-8")), path)


def prepared(device: Any, compiler: Any, case: Case, tensors: Mapping[str, Any]) -> tuple[Callable[[], None], Launch]:
    """A function that queues one of our kernels, and the launch that must live as long as it.

    Args:
        device: Ours.
        compiler: Of our kernels.
        case: What to launch.
        tensors: By the names of the kernel's arguments; further arrays are made.
    """
    program = device.load(case.source(), compiler.compile(case.source()))
    arguments: list[Any] = []
    for spec in case.arrays():
        if spec.constant:
            device.set_constant(program, spec.name, _content(spec))
    for spec in case.arguments():
        if isinstance(spec, ScalarSpec):
            arguments.append(spec.dtype.numpy.type(spec.numbers[0]))
        else:
            arguments.append(held(tensors[spec.name] if spec.name in tensors else _made(spec), spec.role))
    launch = Launch(program, case.grid, case.block, case.shared, tuple(arguments), str(case.variables["cache"]))
    return device.queue_function(launch), launch


def _content(spec: ArraySpec) -> NDArray[Any]:
    if spec.role is Role.IN:
        what = spec.fill, spec.shape, spec.dtype, 0, spec.name
        return cached(what, lambda: fill(*what))
    return np.zeros(spec.dtype.host_shape(spec.shape), spec.dtype.numpy)


def _made(spec: ArraySpec) -> Any:
    import torch  # noqa: PLC0415

    return torch.from_numpy(_content(spec).view(np.uint8).copy()).cuda()


def ours(
    device: Any, compiler: Any, case: Case, tensors: Mapping[str, Any], check: Callable[[], str], name: str = "ours"
) -> Contender:
    """One of our kernels, which writes to the tensor `out`."""
    queue, launch = prepared(device, compiler, case, tensors)
    words = [
        w for w in case.label.split() if w.partition("=")[0] not in ("size", "dtype", "fill")
    ]  # not ours to choose
    return Contender(name, " ".join(words), queue, check, tensors["out"], launch)


def candidates(kernels: Iterable[str], space: Mapping[str, Sequence[object]], **fixed: object) -> list[Case]:
    """The valid cases of a space, each once; not every kernel reads every parameter."""
    found: dict[str, Case] = {}
    for kernel, values in itertools.product(kernels, itertools.product(*space.values())):
        try:
            case = case_of(kernel, {**fixed, **dict(zip(space, values, strict=True))})
        except UsageError:
            continue
        found.setdefault(case.id, case)
    return list(found.values())


def quickest(
    device: Any, compiler: Any, cases: Sequence[Case], tensors: Mapping[str, Any], check: Callable[[], str]
) -> tuple[Case, float]:
    """The fastest case with a right result, and its microseconds."""

    def compiled(case: Case) -> None:
        try:
            compiler.compile(case.source())
        except CompileError as e:
            progress(f"{case.label}: {e}")

    with ThreadPoolExecutor() as pool:
        list(pool.map(compiled, cases))
    best: tuple[Case, float] | None = None
    for case in cases:
        contender = tried(case.label, lambda case=case: ours(device, compiler, case, tensors, check))
        (taken,) = alternate([contender], device, 1, SAMPLES)
        if taken.error:
            progress(f"{case.label}: {taken.error}")
        elif best is None or np.median(taken.us) < best[1]:
            best = case, float(np.median(taken.us))
    if best is None:
        stop(f"none of {len(cases)} candidates is right")
    return best


def told(case: Case, names: Iterable[str], median_us: float, **keys: object) -> dict[str, object]:
    """A chosen configuration as a line of the file."""
    read = dict(case.parameters)
    return {**keys, "kernel": case.kernel.name, **{n: read.get(n, "") for n in names}, "median_us": f"{median_us:.3f}"}


def swept_results(*overrides: str) -> pd.DataFrame:
    """The results of a sweep on the GPU, in its own process; everything as text."""
    with swept(*overrides, "device=cuda", "timing=quick") as run:
        return pd.read_csv(run / "results.csv", dtype=str, keep_default_na=False)


def winners(results: pd.DataFrame, by: Sequence[str], names: Sequence[str]) -> pd.DataFrame:
    """The fastest case of each group with a right and whole result.

    Args:
        results: Of a sweep, everything as text.
        by: The columns that define groups.
        names: The parameters to keep.
    """
    right = results[(results["status"] == "ok") & (results["finish"] == "device")]
    order = right.assign(us=right["median_us"].astype(float)).sort_values("us", kind="stable")
    return order.drop_duplicates(list(by))[[*by, "kernel", *names, "median_us"]].reset_index(drop=True)


def read_choices(path: Path, columns: Iterable[str], kernels: Iterable[str]) -> pd.DataFrame:
    """The configurations that were chosen before.

    Args:
        path: A file that --choose made.
        columns: That it must have beside the kernel.
        kernels: That can be chosen.
    """
    remedy = "--choose finds the configurations, and --out keeps them"
    if not path.exists():
        stop(f"--chosen {path}: there is no such file; {remedy}")
    try:
        chosen = pd.read_csv(path, dtype=str, keep_default_na=False, compression=None)
    except (OSError, ValueError) as e:  # the latter of pandas: nothing in it, no table, no text
        stop(f"--chosen {path}: it cannot be read as a table ({' '.join(str(e).split())}); {remedy}")
    if missing := [c for c in ("kernel", *columns) if c not in chosen]:
        stop(f"--chosen {path}: it has no column {', '.join(missing)}; {remedy}")
    if strange := sorted(set(chosen["kernel"]) - set(kernels)):
        stop(f"--chosen {path}: kernel {strange[0]!r} is none of {', '.join(kernels)}; {remedy}")
    return chosen


def choice(choices: pd.DataFrame, names: Iterable[str], fixed: Mapping[str, object], **keys: str) -> Case:
    """The case that was chosen for these keys."""
    fitting = choices
    for name, value in keys.items():
        fitting = fitting[fitting[name].astype(str) == value]
    what = ", ".join(f"{name}={value}" for name, value in keys.items())
    if len(fitting) != 1:
        stop(f"{len(fitting)} configurations are chosen for {what}, not one: --choose finds them")
    line = fitting.iloc[0].to_dict()
    try:
        return case_of(str(line["kernel"]), {**fixed, **{n: line[n] for n in names}})
    except UsageError as e:
        stop(f"what was chosen for {what} cannot be: {e}")
