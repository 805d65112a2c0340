"""Makes a case from requested values, with the reason if it cannot run."""

from __future__ import annotations

import dataclasses
import itertools
import math
from collections.abc import Mapping
from typing import Any

import ml_dtypes

from runner.device import Dim3, Surface, Texture
from runner.errors import UsageError
from runner.kernel.arrays import COUNTING, DTYPES, FILLS, DType
from runner.kernel.case import (
    MEMSET_BYTES,
    ArraySpec,
    Case,
    LaunchSpec,
    MemorySpec,
    PointerSpec,
    ScalarSpec,
    known_values,
    own_block,
    to_dim3,
    unroll,
)
from runner.kernel.computed import settle
from runner.kernel.declaration import VOCABULARY, Canonical, Kernel, Kind, Step, canonical, value_text
from runner.kernel.recipes import Recipe, file_mismatch

# CUDA's limits for every launch (CUDA C++ Programming Guide, table "Technical Specifications per Compute Capability").
MAX_THREADS = 1024
MAX_BLOCK_Z = 64
MAX_POINTERS = 4096  # arrays of one array of pointers; each is an allocation of its own
MAX_LAUNCHES = 10_000  # of a program
MAX_GRID = (2**31 - 1, 65535, 65535)
TEXELS = ("int8", "uint8", "int16", "uint16", "int32", "uint32", "float16", "float32")  # of a texture or surface
# The largest sizes in x, y, z by dimensions (CUDA C++ Programming Guide, "Technical Specifications per Compute
# Capability"). The driver reports further limits of pitched memory.
MAX_IMAGE = {
    "array": ((131072,), (131072, 65536), (16384, 16384, 16384)),
    "linear": ((2**28,), (), ()),
    "pitch2d": ((), (131072, 65000), ()),
    "surface": ((32768,), (131072, 65536), (16384, 16384, 16384)),
}
PITCH_ALIGNMENT = 32  # bytes: texturePitchAlignment of GPUs
MAX_ARRAY_BYTES = 2**48  # more than any machine has, and below NumPy's own limits


def make(kernel: Kernel, requested: Mapping[str, Any], seed: int) -> Case:
    """Make a case from requested values; `excluded` has the reason if it cannot run.

    The values are as written, by parameter; `None` stands for the default, and names that are not the kernel's are
    ignored. Raises UsageError if a value cannot be read, or if an expression of the kernel cannot be evaluated.
    """
    order = {name: i for i, name in enumerate(VOCABULARY)}
    parameters = sorted(kernel.parameters, key=lambda p: order.get(p.name, len(order)))
    given = {p.name: canonical(p.name, p.kind, v) for p in parameters if (v := requested.get(p.name)) is not None}
    values, fraction = settle(parameters, given)
    if (fill := values.get("fill", "zeros")) not in FILLS:
        where = "fill=" if "fill" in given else f"{kernel.yaml.name}: parameters.fill: "
        raise UsageError(f"{where}{fill}: expected one of {', '.join(FILLS)}")
    known = known_values(kernel, values)
    block = own_block(kernel, values)
    excluded = fraction or _excluded(kernel, values, known, block)
    grid, shared = (0, 0, 0), 0
    if not excluded:
        steps = unroll(kernel.launches, known)
        first, within = next(((step, names) for step, names in steps if isinstance(step, Step)), (None, known))
        if kernel.launches and first is None:
            excluded = "there is nothing to launch: 'launches' has no launch, or its loops have no iterations"
        elif first is not None:
            grid, shared = to_dim3(first.grid, within), int(first.shared(within))
            block = to_dim3(first.block, within) if first.block else block
        else:
            grid, shared = to_dim3(kernel.grid, known), int(kernel.shared(known))
        excluded = excluded or _grid_error(grid)
    case = Case(kernel, tuple(values.items()), seed, excluded, grid, block, shared)
    if excluded or not (error := _case_error(case)):
        return case  # with the values that checking it has computed
    return dataclasses.replace(case, excluded=error)


def _excluded(kernel: Kernel, values: Mapping[str, Canonical], known: Mapping[str, Canonical], block: Dim3) -> str:
    """The first reason why the combination of values is not allowed; empty if it is allowed."""
    for p in kernel.parameters:
        if p.allowed and values[p.name] not in p.allowed:
            allowed = ", ".join(value_text(p.kind, a) for a in p.allowed)
            return f"{p.name}={value_text(p.kind, values[p.name])} is not a value of {kernel.name}; allowed: {allowed}"
        if p.kind is Kind.SIZE and known[p.name] == 0:
            return f"{p.name}=0: there is nothing to do"
    if reason := _block_error(block):
        return reason
    for c in kernel.constraints:
        if not c.require(known):
            names = sorted(c.require.names & known.keys())
            named = ", ".join(f"{n}={f'{known[n]:#010x}' if n == 'mask' else known[n]}" for n in names)
            return f"{c.reason} ({c.require.full} does not hold for {named})"
    return ""


def _block_error(block: Dim3) -> str:
    if min(block) < 1 or math.prod(block) > MAX_THREADS:
        return f"a block of {math.prod(block)} threads is not within CUDA's 1 to {MAX_THREADS}"
    if block[2] > MAX_BLOCK_Z:
        return f"a block of {block[2]} threads in z is not within CUDA's 1 to {MAX_BLOCK_Z}"
    return ""


def _grid_error(grid: Dim3) -> str:
    for axis, blocks, limit in zip("xyz", grid, MAX_GRID, strict=True):
        if not 1 <= blocks <= limit:
            return f"a grid of {blocks} blocks in {axis} is not within CUDA's 1 to {limit}"
    return ""


def _case_error(case: Case) -> str:
    """Why CUDA or a type forbids the launch, although its parameters are allowed; empty if it is possible.

    Evaluates every expression of the kernel, so that a mistake in one is reported before anything runs.
    """
    for what in ("bytes_read", "bytes_written", "operations", "in_flight", "depth"):
        if not 0 <= (case.count(what) or 0) < 2**63:
            return f"{what} would be {case.count(what)}; expected 0 to 2**63-1"
    if reason := next(filter(None, map(_array_error, case.arrays())), ""):
        return reason
    launches = unroll(case.kernel.launches, case.variables)
    if next(itertools.islice(launches, MAX_LAUNCHES, None), None):
        return f"there would be more than {MAX_LAUNCHES} launches"
    arrays = {a.name: a for a in case.arrays()}
    if reason := next(filter(None, (_step_error(step, arrays) for step in case.steps)), ""):
        return reason
    case.source()  # evaluates the remaining expressions, as do the next lines
    case.hazard  # noqa: B018
    if case.kernel.shuffle:
        case.kernel.shuffle.argument(case.variables)
    return ""


def _step_error(step: LaunchSpec | MemorySpec, arrays: Mapping[str, ArraySpec]) -> str:
    return _memory_error(step) if isinstance(step, MemorySpec) else _launch_error(step, arrays)


def _memory_error(step: MemorySpec) -> str:
    """Why a memset or a copy is impossible; empty if it is possible."""
    name, dtype, value = step.array.name, step.array.dtype, step.value
    if step.origin:
        given, needed = step.origin.nbytes, step.array.nbytes
        if given == needed:
            return ""
        return f"a copy of '{step.origin.name}' ({given} bytes) to '{name}' ({needed} bytes): the sizes must be equal"
    if step.of_bytes:
        return "" if value in range(256) else f"memset of '{name}': the byte {value} is not within 0 to 255"
    if wrong := [number for _, number in dtype.leaves() if not (number.holds(value) or abs(value) == math.inf)]:
        return f"memset of '{name}': {value} is not a valid {wrong[0].name}"
    if len(step.pattern) in MEMSET_BYTES:
        return ""
    what = f"{dtype.name} of the value {value} repeats nothing shorter than {len(step.pattern)} bytes"
    return f"memset of '{name}': {what}, CUDA's memsets repeat 1, 2 or 4; launch a kernel instead"


def _launch_error(launch: LaunchSpec, arrays: Mapping[str, ArraySpec]) -> str:
    if reason := _grid_error(launch.grid) or _block_error(launch.block):
        return reason
    if not 0 <= launch.shared < 2**31:
        return f"the dynamic shared memory would be {launch.shared} bytes; expected 0 to 2**31-1"
    for s in launch.arguments:
        if isinstance(s, ScalarSpec) and (reason := _scalar_error(s)):
            return reason
        if isinstance(s, PointerSpec):
            pointed = filter(None, (s.array, *s.arrays))
            if reason := next(filter(None, (_pointer_error(s, arrays[name]) for name in pointed)), ""):
                return f"{s.name}: {reason}"
    return ""


def _pointer_error(s: PointerSpec, array: ArraySpec) -> str:
    if s.texture:
        return _view_error(s.texture, array)
    if array.image:
        return f"'{array.name}' is a texture or a surface; a pointer cannot refer to it"
    if array.split:
        return f"'{array.name}' has 'pointers: true', so it has no address of its own; a pointer cannot refer to it"
    if s.arrays and array.constant:
        return f"'{array.name}' is a __constant__ or __device__ array; a pointer cannot refer to it"
    size = math.prod(array.shape)
    return "" if 0 <= s.index <= size else f"element {s.index} is not within '{array.name}' of {size} elements"


def _array_error(a: ArraySpec) -> str:
    most = math.prod(max(1, n) for n in a.shape)  # NumPy refuses the shape (0, 2**62), too
    if min(a.shape) < 0 or a.offset < 0 or (most + a.offset) * a.dtype.itemsize > MAX_ARRAY_BYTES:
        allowed = f"numbers of 0 or more, and at most {MAX_ARRAY_BYTES >> 40} TiB"
        return f"the array '{a.name}' would have the shape {a.shape} at offset {a.offset}; expected {allowed}"
    if not 0 <= a.lead <= math.prod(a.shape):
        return f"the array '{a.name}' of {math.prod(a.shape)} elements cannot have {a.lead} of them before its pointer"
    if a.split and not 1 <= a.shape[0] <= MAX_POINTERS:
        return f"the array '{a.name}' would be {a.shape[0]} arrays; 'pointers: true' is for 1 to {MAX_POINTERS}"
    if a.image and (reason := _image_error(a.image, a.dtype, a.shape)):
        return f"{a.name}: {reason}"
    for column in a.leaf_arrays():
        if reason := _fill_error(column):
            return reason
        if isinstance(column.fill, Recipe) and (reason := file_mismatch(column.fill, column.shape, column.dtype)):
            return f"{column.name}: {reason}"
    return ""


def _scalar_error(s: ScalarSpec) -> str:
    """Why the scalar's type cannot hold its values; empty if it can."""
    numbers = list(s.dtype.leaves())
    if len(numbers) != len(s.numbers):
        return f"{s.name}: {s.dtype.name} has {len(numbers)} numbers, {len(s.numbers)} are given"
    for (place, number), value in zip(numbers, s.numbers, strict=True):
        if not isinstance(value, PointerSpec) and not number.holds(value):
            return f"{s.name}{place} = {value} is not a valid {number.name}"
    return ""


def _fill_error(a: ArraySpec) -> str:
    """Why the array's type cannot hold the numbers of its fill; empty if it can."""
    if isinstance(a.fill, Recipe) and a.fill.kind == "constant":
        value = a.fill.constants[0]
        return "" if math.isfinite(value) or a.dtype.stores(value) else f"{a.fill.where}: {a.dtype.name} has no {value}"
    if a.fill not in COUNTING or not a.dtype.is_float:
        return ""
    most = float(ml_dtypes.finfo(a.dtype.numpy).max)  # type: ignore[no-untyped-call]
    count = math.prod(a.shape) * a.dtype.numbers
    if count <= most:
        return ""
    return f"fill={a.fill}: {a.dtype.name} holds nothing above {most:g}, but '{a.name}' has {count} numbers"


def _image_error(texture: Texture | Surface, dtype: DType, shape: tuple[int, ...]) -> str:
    """Why CUDA does not allow this texture or surface; empty if it does."""
    if dtype.fields or dtype.number not in TEXELS or dtype.numbers not in (1, 2, 4):
        return f"a texel has 1, 2 or 4 numbers of {', '.join(TEXELS)}, not {dtype.name}"
    resource = texture.resource if isinstance(texture, Texture) else "surface"
    if len(shape) > len(MAX_IMAGE[resource]):
        return f"a texture or a surface has 1 to {len(MAX_IMAGE[resource])} axes, not {len(shape)}"
    limits = MAX_IMAGE[resource][len(shape) - 1]
    if not limits:
        dimensions = "1 dimension" if resource == "linear" else "2 dimensions"
        return f"'resource: {resource}' has {dimensions}, not {len(shape)}"
    if any(not 1 <= n <= most for n, most in zip(reversed(shape), limits, strict=True)):
        sizes = " x ".join(map(str, reversed(limits)))
        return f"the shape {shape} is not within CUDA's 1 to {sizes}"
    return _texture_mode_error(texture, dtype) if isinstance(texture, Texture) else ""


def _view_error(texture: Texture, array: ArraySpec) -> str:
    """Why an array that is also an argument cannot be read through this texture; empty if it can."""
    needed = "a surface" if texture.resource == "array" else "an array without 'surface', 'constant' and 'offset'"
    plain = array.image is None and not array.constant and not array.offset
    if not (isinstance(array.image, Surface) if texture.resource == "array" else plain):
        return f"'resource: {texture.resource}' needs {needed}, which '{array.name}' is not"
    if texture.resource == "pitch2d" and array.shape[-1] * array.dtype.itemsize % PITCH_ALIGNMENT:
        return f"rows of pitched memory have a multiple of {PITCH_ALIGNMENT} bytes, those of '{array.name}' do not"
    return _image_error(texture, array.dtype, array.shape)


def _texture_mode_error(texture: Texture, dtype: DType) -> str:
    """Why texels of this type cannot be read with these modes."""
    if texture.promotes and (dtype.is_float or dtype.numpy.itemsize > 2):
        return f"'read_mode: normalized_float' is for 8-bit and 16-bit integers, not for {dtype.name}"
    if texture.filter_mode == "linear" and not (dtype.is_float or texture.promotes):
        return f"'filter_mode: linear' is for floats and for 'read_mode: normalized_float', not for {dtype.name}"
    if texture.filter_mode == "linear" and texture.resource == "linear":
        return "linear memory is read by tex1Dfetch, which has no filter"
    number = DTYPES["float32"] if dtype.is_float or texture.promotes else dtype
    if wrong := [n for n in texture.border_color if not number.holds(n)]:
        return f"border_color: {wrong[0]} is not a valid {number.name}"
    return ""
