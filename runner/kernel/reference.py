"""What a launch should give: finding a kernel's reference, and asking it.

A reference is a function `(inputs, parameters, grid) -> Expected`. It gets the arrays as they were before the launch
(`in` and `inout`), the parameters as expressions see them, and the grid; a kernel's YAML names it by its dotted path.
A reference of your own may also return a plain `{output name: array}`.
"""

from __future__ import annotations

import functools
import importlib
import importlib.util
import sys
import time
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from runner.errors import UsageError
from runner.kernel.array_expression import ArrayExpression
from runner.kernel.dtypes import is_float
from runner.kernel.remembered import once

Array = NDArray[Any]
Inputs = Mapping[str, Array]
Parameters = Mapping[str, int | str]


@dataclass(frozen=True)
class ExpectedArray:
    """One output.

    Attributes:
        values: The right answer; floats in a wider type where there is one.
        magnitude: Sum of the absolute values that went into each element; `None` for integers, which are exact.
        defined: Which elements CUDA defines; the others are not compared. `None`: all.
        depth: Rounded operations that lie one behind the other in an element.
    """

    values: Array
    magnitude: Array | None = None
    defined: Array | None = None
    depth: int = 1


@dataclass(frozen=True)
class Expected:
    """What a launch should give.

    Attributes:
        outputs: By name; an output that is left out is not compared.
        value: The one number that sums it up, if there is one.
        seconds: How long the host took for that number, or for all of it.
    """

    outputs: Mapping[str, ExpectedArray]
    value: int | float | None = None
    seconds: float | None = None


def wider(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """A type in which sums of `dtype` are exact (integers, modulo 2**64), or precise far beyond the bound."""
    if is_float(dtype):
        return np.dtype(np.longdouble if dtype == np.float64 else np.float64)
    wider = {"int32": "int64", "uint32": "uint64"}
    return np.dtype(wider.get(dtype.name, dtype.name))


def expect(
    reference: str | tuple[tuple[str, ArrayExpression], ...],
    folder: Path,
    inputs: Inputs,
    parameters: Parameters,
    grid: tuple[int, int, int],
) -> Expected:
    """Work out what a launch should give.

    Args:
        reference: A dotted path, or one expression an output.
        folder: Of the kernel's YAML; modules of the user's own are looked for there, too.
        inputs: The arrays before the launch.
        parameters: The case's, as expressions see them.
        grid: Blocks in x, y, z.

    Raises:
        UsageError: if the reference cannot be found or does not return what it should.
    """
    started = time.perf_counter()
    if isinstance(reference, str):
        given = _called(find(reference, folder), reference, inputs, parameters, grid)
        if isinstance(given, Expected):
            return given
        if not isinstance(given, Mapping):
            raise UsageError(f"reference {reference}: a dictionary of arrays is expected, not {type(given).__name__}")
        outputs = {str(n): ExpectedArray(np.asarray(a), np.abs(np.asarray(a))) for n, a in given.items()}
    else:
        outputs = {name: _evaluated(expression, inputs, parameters) for name, expression in reference}
    return Expected(outputs, None, time.perf_counter() - started)


def _evaluated(expression: ArrayExpression, inputs: Inputs, parameters: Parameters) -> ExpectedArray:
    """An output by its expression. What only moves elements is remembered: a sweep's cases have it in common."""
    read = [n for n in sorted(expression.names) if n in inputs]
    if len(read) == 1 and expression.only_moves:
        told = [(n, parameters.get(n)) for n in sorted(expression.names - set(read))]
        return once(inputs[read[0]], f"{expression.text} {told}", lambda: _moved(expression, inputs, parameters))
    # Integers stay in their own type: they wrap as they do in the kernel.
    widened = {n: a.astype(wider(a.dtype), copy=False) if is_float(a.dtype) else a for n, a in inputs.items()}
    sized = expression({**parameters, **widened})
    magnitude = np.asarray(sized.magnitude) if sized.depth else np.zeros(())  # nothing is rounded, no error is allowed
    return ExpectedArray(np.asarray(sized.value), magnitude, depth=sized.depth + 1)


def _moved(expression: ArrayExpression, inputs: Inputs, parameters: Parameters) -> ExpectedArray:
    return ExpectedArray(np.asarray(expression({**parameters, **inputs}).value), np.zeros(()))


@functools.lru_cache(maxsize=256)
def _load(path: Path) -> ModuleType:
    """A module by its file: two folders may have modules of one name."""
    spec = importlib.util.spec_from_file_location(f"reference_{zlib.crc32(str(path).encode()):08x}", path)
    if spec is None or spec.loader is None:
        raise ImportError(f"{path.name} is no module")
    module = importlib.util.module_from_spec(spec)
    sys.path.insert(0, str(path.parent))  # for what it imports itself
    try:
        spec.loader.exec_module(module)
    finally:
        sys.path.remove(str(path.parent))
    return module


def _called(
    function: Callable[..., Any], path: str, inputs: Inputs, parameters: Parameters, grid: tuple[int, int, int]
) -> Any:
    try:
        return function(inputs, parameters, grid)
    except Exception as e:  # the code is the user's, it may raise anything
        raise UsageError(f"reference {path}: {type(e).__name__}: {e}") from e


def find(path: str, folder: Path) -> Callable[[Inputs, Parameters, tuple[int, int, int]], Any]:
    """Import a reference by its dotted path.

    Raises:
        UsageError: if there is no such function.
    """
    module_name, _, function = path.rpartition(".")
    beside = folder / (module_name.replace(".", "/") + ".py")
    try:
        module = _load(beside) if beside.is_file() else importlib.import_module(module_name)
    except (Exception, SystemExit) as e:  # noqa: BLE001  (the code is the user's, it may raise anything)
        raise UsageError(f"reference {path}: {type(e).__name__}: {e} (looked for beside the YAML, too)") from None
    found: Any = getattr(module, function, None)
    if not callable(found):
        raise UsageError(f"reference {path}: the module '{module_name}' has no function '{function}'")
    return found  # type: ignore[no-any-return]
