"""The expected outputs of a launch, from the kernel's reference.

A reference is one array expression for each output, or the dotted path of a function `(inputs, parameters, grid)`. The
function gets the arrays from before the launch (`in` and `inout`), the parameters by their names in expressions, and
the grid. It returns `Expected`, or `{output name: array}`, whose entries may be `ExpectedArray`.
"""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import importlib
import os
import resource
import sys
import time
import traceback
import warnings
from collections import OrderedDict
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from runner import interruption
from runner.bounds.array_expression import ArrayExpression
from runner.bounds.evaluation import Array, Inputs, cached_per_array, evaluate
from runner.bounds.expected import ExpectedArray
from runner.bounds.formula import shortened
from runner.bounds.rounding import Arithmetic, Halves, is_float, is_half, least_precise, wider, with_halves
from runner.bounds.tied_indices import accepting
from runner.errors import UsageError
from runner.files import modules
from runner.kernel.arrays import MAX_CACHED, DType, part_types, with_parts
from runner.kernel.case import READ, Case
from runner.kernel.declaration import Canonical, Kernel
from runner.kernel.recipes import Recipe
from runner.kernel.reference_file import NOT_FOUND, module_file

__all__ = ["Array", "Expected", "ExpectedArray", "Inputs", "Parameters", "cached_per_array"]  # what references import

Parameters = Mapping[str, Canonical]
MAX_MESSAGE = 300  # characters of a reference's exception
MEMORY_SHARE = 0.75  # of the host's free memory, which a reference may take, but at most
MEMORY_BYTES, MEMORY_FACTOR = 4 << 30, 64  # this many bytes, and this many times the bytes of the case's arrays


@dataclass(frozen=True)
class Expected:
    """The expected outputs of a launch."""

    outputs: Mapping[str, ExpectedArray]  # by name; only these are compared
    value: int | float | None = None  # one number that summarizes the outputs, such as their sum
    seconds: float | None = None  # the host's time for that number, or else for all outputs
    looser: Callable[[], Expected] | None = None  # under the assumption `Halves.MIXED`, which is correct, too
    narrow: Callable[[], Expected] | None = None  # under the assumption `Halves.NARROW`


DEFAULT_ULPS = {1: 1, 2: 4, 4: 16, 8: 16}  # by the type's bytes; for references that return plain arrays


def expect(
    case: Case, inputs: Inputs, *, fast: bool = False, random_signs: bool = False, halves: Halves = Halves.WIDE
) -> Expected:
    """Compute the expected outputs of a launch from the arrays before it.

    Args:
        case: A case that can run.
        inputs: The arrays by name; results for read-only arrays are cached.
        fast: Whether the kernel is compiled with `-use_fast_math`.
        random_signs: Whether the inputs' signs were drawn at random.
        halves: How a kernel with half types computes; `Expected.looser` and `narrow` have the other assumptions.

    Raises:
        UsageError: The reference is not found, raises an exception, or returns something else than expected outputs.
    """
    compute = functools.partial(_compute, case, inputs, fast, random_signs, halves)
    fixed = {a.name: inputs[a.name] for a in case.arrays() if a.role in READ and a.name in inputs}
    if any(array.flags.writeable for array in fixed.values()):  # may be changed
        found = compute()
    else:
        key = (*_depends_on(case), fast, random_signs, halves, *map(id, fixed.values()))
        found = _recent.get(key, fixed, compute, once=random_signs)
    if halves is not Halves.WIDE or not _assumes_halves(case):
        return found
    again = functools.partial(expect, case, inputs, fast=fast, random_signs=random_signs)
    looser, narrow = (functools.partial(again, halves=other) for other in (Halves.MIXED, Halves.NARROW))
    return dataclasses.replace(found, looser=looser, narrow=narrow)


def _assumes_halves(case: Case) -> bool:
    """Whether the outputs depend on an assumption on half types, as the YAML has no `compute`."""
    return not case.kernel.compute and any(
        is_half(_least_precise(case, name, e)) for name, e in case.kernel.expressions
    )


def _depends_on(case: Case) -> tuple[Any, ...]:
    """The cache key apart from the arrays, which lets cases that differ only in the block share a result."""
    kernel, values = case.kernel, case.variables
    if isinstance(kernel.reference, str):
        return (kernel, *values.items(), case.grid)
    expressions = (*kernel.reference, *kernel.undefined_where)
    texts = [(name, e.full, *((n, helper.full) for n, helper in e.helpers)) for name, e in expressions]
    read = sorted({name for _, e in expressions for name in e.names if name in values})
    arrays = [(a.name, a.dtype, a.shape) for a in case.arrays()]
    compute = case.resolve_dtype(kernel.compute).name if kernel.compute else None
    return (*texts, *((n, values[n]) for n in read), *arrays, compute, kernel.fast_math, case.count("depth"))


class _Recent:
    """The 1024 most recently used results, in at most a sixteenth of the memory, for rounds and further cases."""

    def __init__(self) -> None:
        self._kept: OrderedDict[tuple[Any, ...], tuple[Inputs, Expected]] = OrderedDict()
        self._bytes = 0

    def get(self, key: tuple[Any, ...], inputs: Inputs, make: Callable[[], Expected], *, once: bool) -> Expected:
        """The cached result, or that of `make`. The inputs are kept with it, so that their ids stay unique.

        A result that is needed only `once` is evicted first.
        """
        if key not in self._kept:
            self._kept[key] = (inputs, make())
            self._bytes += _nbytes(*self._kept[key])
        self._kept.move_to_end(key, last=not once)
        result = self._kept[key][1]
        while len(self._kept) > 1 and (self._bytes > MAX_BYTES or len(self._kept) > MAX_CACHED):
            self._bytes -= _nbytes(*self._kept.popitem(last=False)[1])
        return result


MAX_BYTES = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 16
_recent = _Recent()


def _nbytes(inputs: Inputs, expected: Expected) -> int:
    """The bytes of a result and of its inputs."""
    parts = [part for output in expected.outputs.values() for part in vars(output).values()]
    arrays = [a for part in parts for a in (part if isinstance(part, tuple) else (part,)) if isinstance(a, np.ndarray)]
    return sum(a.nbytes for a in (*arrays, *inputs.values()))


@contextlib.contextmanager
def _bounded_memory(nbytes: int) -> Iterator[None]:
    """Bound what a reference may allocate, so that one that makes huge arrays fails, and not the host. Only on Linux.

    Args:
        nbytes: The size of the case's arrays, which a reference reads and makes.

    Raises:
        MemoryError: Within the context, by what allocates too much.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_DATA)
    with contextlib.suppress(OSError, ValueError, KeyError):
        free = int(MEMORY_SHARE * (_kilobytes("meminfo")["MemAvailable"] << 10))
        most = (_kilobytes("self/status")["VmData"] << 10) + min(free, MEMORY_BYTES + MEMORY_FACTOR * nbytes)
        if soft == resource.RLIM_INFINITY or most < soft:
            resource.setrlimit(resource.RLIMIT_DATA, (most, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_DATA, (soft, hard))


def _kilobytes(name: str) -> dict[str, int]:
    """The sizes in a file below /proc."""
    lines = (line.split() for line in Path("/proc", name).read_text(encoding="utf-8").splitlines())
    return {words[0].rstrip(":"): int(words[1]) for words in lines if words[2:] == ["kB"]}


def _compute(case: Case, inputs: Inputs, fast: bool, random_signs: bool, halves: Halves) -> Expected:  # noqa: FBT001
    with _bounded_memory(case.nbytes):
        return _computed(case, inputs, fast, random_signs, halves)


def _computed(case: Case, inputs: Inputs, fast: bool, random_signs: bool, halves: Halves) -> Expected:  # noqa: FBT001
    started = time.perf_counter()
    reference = case.kernel.reference
    if isinstance(reference, str):
        function = find(case.kernel)
        try:
            with warnings.catch_warnings():  # filters that it sets are not those of other kernels
                result = function(dict(inputs), case.variables, case.grid)
        except BaseException as e:  # the code is the user's, it may raise anything
            interruption.check()
            raise UsageError(f"reference {reference}: {_words(e)}{_raised_at(e)}") from e
        arrays = result.outputs if isinstance(result, Expected) else result
        if not isinstance(arrays, Mapping):
            raise UsageError(f"reference {reference}: expected a dictionary of arrays, not {type(arrays).__name__}")
        types = _types(case)
        outputs = {str(n): _with_default_error(a, types.get(str(n))) for n, a in arrays.items()}
        for n, a in outputs.items():
            dtype = np.asarray(a.values).dtype
            if dtype.kind in "OUSmM" or (dtype.kind == "c" and n in types and types[n].kind != "c"):
                raise UsageError(f"reference {reference}: expected numbers of {types.get(n)} in '{n}', not {dtype}")
            _check_parts(f"reference {reference}", n, a)
        if isinstance(result, Expected):
            return dataclasses.replace(result, outputs=outputs)
    else:
        inputs = with_parts(inputs, {a.name: a.dtype for a in case.arrays()})
        values = {**case.variables, **inputs}
        outputs = {}
        for name, expression in reference:
            arithmetic = _arithmetic(case, name, expression, fast, random_signs)
            assumed = with_halves(arithmetic, Halves.NARROW if case.kernel.compute else halves)
            output = evaluate(expression, inputs, case.variables, assumed)
            judge = accepting(expression, values, arithmetic)
            outputs[name] = dataclasses.replace(output, judge=judge) if judge else output
        for name, condition in case.kernel.undefined_where:
            undefined = np.asarray(condition(values).value).astype(np.bool_)
            outputs[name] = dataclasses.replace(outputs[name], defined=~undefined)
    return Expected(outputs, None, time.perf_counter() - started)


def _words(error: BaseException) -> str:
    """An exception's type and text, for a message. The text may be the user's code, which may raise anything, too."""
    try:
        return f"{type(error).__name__}: {shortened(str(error), MAX_MESSAGE)}"
    except Exception:  # noqa: BLE001
        return type(error).__name__


def _raised_at(error: BaseException) -> str:
    """The last line of the function's own file in the traceback, in parentheses; empty if the call itself failed."""
    passed = [(frame.f_code.co_filename, line) for frame, line in traceback.walk_tb(error.__traceback__)][1:]
    own = [line for file, line in passed if file == passed[0][0]]
    return f" ({Path(passed[0][0]).name}:{own[-1]})" if own else ""


def _check_parts(what: str, name: str, given: ExpectedArray) -> None:
    """Raise UsageError if `error` or `defined` of an output has a wrong type or shape."""
    if given.defined is not None and (dtype := np.asarray(given.defined).dtype) != np.bool_:
        raise UsageError(f"{what}: expected booleans in 'defined' of '{name}', not {dtype}")
    shape = given.values.shape
    for part, content in (("error", given.error), ("defined", given.defined)):
        own = np.shape(content) if content is not None else ()
        try:
            fits = np.broadcast_shapes(own, shape) == shape
        except ValueError:
            fits = False
        if not fits and [n for n in own if n != 1] != [n for n in shape if n != 1]:
            raise UsageError(f"{what}: '{part}' of '{name}' has the shape {own}, the values {shape}")


def _types(case: Case) -> dict[str, np.dtype[Any]]:
    return {n: d.numpy for a in case.arrays() for n, d in part_types(a.name, a.dtype).items()}


def missing_names(name: str, dtype: DType, given: Collection[str]) -> list[str]:
    """The names that a reference must give besides `given` to cover an output: the array itself, or its parts."""
    if name in given and dtype.is_whole:
        return []
    types, parts = part_types(name, dtype), [f"{name}.{part}" for part in dtype.parts]
    if not parts or (dtype.is_whole and not any(n in given for n in parts)):
        return [name]
    return [n for part in parts for n in missing_names(part, types[part], given)]


def _arithmetic(case: Case, output: str, expression: ArrayExpression, fast: bool, random_signs: bool) -> Arithmetic:  # noqa: FBT001
    """The kernel's arithmetic: in the type `compute`, else in the least precise one among the output and its inputs."""
    word = case.kernel.compute
    dtype = (
        least_precise(case.resolve_dtype(word).numpy) if word else _least_precise(case, output, expression)
    ) or np.dtype(np.float64)
    signs = (random_signs or _symmetric(case)) and not expression.orders
    return Arithmetic(dtype, fast or case.kernel.fast_math, case.count("depth"), random_signs=signs)


def _least_precise(case: Case, output: str, expression: ArrayExpression) -> np.dtype[Any] | None:
    types = _types(case)
    return least_precise(*(types[n] for n in (output, *expression.names) if n in types))


def _symmetric(case: Case) -> bool:
    """Whether all floats that the kernel reads have random signs."""
    fills = [c.fill for a in case.arrays() if a.role in READ for c in a.leaf_arrays() if c.dtype.is_float]
    return all(f == "random" or (isinstance(f, Recipe) and f.symmetric) for f in fills)


def _with_default_error(given: Any, dtype: np.dtype[Any] | None) -> ExpectedArray:
    """Add the default error to a plain array: 16 ulp (4 in half types) of the value or of the median magnitude."""
    if isinstance(given, ExpectedArray):
        return dataclasses.replace(given, values=np.asarray(given.values))
    values = np.asarray(given)
    if dtype is None or not is_float(dtype) or values.dtype.kind in "OUSmMc":
        return ExpectedArray(values)
    allowed = DEFAULT_ULPS[dtype.itemsize] * Arithmetic(dtype).eps
    magnitude = np.abs(values.astype(wider(dtype)))
    counted = magnitude[np.isfinite(magnitude) & (magnitude > 0)]
    typical = np.median(counted) if counted.size else 0.0
    return ExpectedArray(values, error=allowed * np.where(np.isfinite(magnitude), np.maximum(magnitude, typical), 0))


# Run folders keep the references of their sweep, which import modules by the names that they had then.
MOVED = {
    "runner.kernel.dtypes": "runner.kernel.arrays",
    "runner.kernel.pieces": "runner.bounds.chunked",
    "runner.kernel.precision": "runner.bounds.rounding",
}


@functools.lru_cache(maxsize=256)
def _load(path: Path) -> ModuleType:
    """Import a module of references."""
    for former, now in MOVED.items():
        sys.modules.setdefault(former, importlib.import_module(now))
    return modules.load(path)


def find(kernel: Kernel) -> Callable[[Inputs, Parameters, tuple[int, int, int]], Any]:
    """Import a kernel's reference by its dotted path. Raises UsageError if that fails."""
    path = str(kernel.reference)
    module_name, _, function = path.rpartition(".")
    file = module_file(kernel)
    try:
        with warnings.catch_warnings():
            module = _load(file) if file else importlib.import_module(module_name)
    except BaseException as e:  # noqa: BLE001  (the code is the user's, it may raise anything)
        interruption.check()  # raises KeyboardInterrupt if the user pressed Ctrl-C
        raise UsageError(f"reference {path}: cannot be imported: {_words(e)}{'' if file else NOT_FOUND}") from None
    found: Any = getattr(module, function, None)
    if not callable(found):
        raise UsageError(f"reference {path}: the module '{module_name}' has no function '{function}'")
    return found  # type: ignore[no-any-return]
