"""The keys of a kernel's YAML, level by level, each with the JSON schema of its value and its meaning.

The reader accepts the keys of these tables and no others. `runner.kernel.yaml_schema` makes the schema for editors of
them, and `tools/reference_tables.py` the tables of docs/kernel-yaml.md. The schema describes the form of a value; only
the reader knows what an expression means.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from runner.columns import RESERVED
from runner.device import Role
from runner.kernel.arrays import DTYPES, FILLS
from runner.kernel.declaration import TEXTURE_MODES, VOCABULARY, Kind
from runner.kernel.lanes import INTRINSICS
from runner.kernel.recipes import NUMBERS, WORDS

Schema = Mapping[str, Any]
Level = Mapping[str, Schema]

NAME = "[A-Za-z][A-Za-z0-9_]{0,31}"
"""Names that expressions use: of parameters, definitions and counters."""
KERNEL_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,63}")
KERNEL_NAMES = "up to 64 letters, digits and _, not starting with a digit"
PARTS = ("rows", "cols")
"""Names and columns of the parts of a size; parameters of a kernel that has no size."""
MAX_AXES = 4  # of an array
NOT_FINITE = ("inf", "+inf", "-inf", "nan")
"""Contents that are no numbers of an expression, as text; YAML's `.inf` and `.nan` read the same."""


def one(*schemas: Schema) -> Schema:
    """Any of several forms."""
    return {"anyOf": list(schemas)}


def listed(item: Schema, most: int = 0) -> Schema:
    """A list."""
    return {"type": "array", "items": item} | ({"minItems": 1, "maxItems": most} if most else {})


def word(allowed: Iterable[str]) -> Schema:
    """One of a few words."""
    return {"enum": list(allowed)}


def level(keys: Level, *required: str) -> Schema:
    """A mapping with these keys."""
    return {"type": "object", "properties": dict(keys), "additionalProperties": False, "required": list(required)}


def by_name(value: Schema, name: str = "") -> Schema:
    """A mapping from names to values."""
    return {"type": "object", "additionalProperties": value} | (
        {"propertyNames": {"pattern": f"^{name}$"}} if name else {}
    )


def about(schema: Schema, description: str) -> Schema:
    """The schema with a description in Markdown, which editors and docs/kernel-yaml.md show."""
    return {**schema, "description": description}


TEXT: Schema = {"type": "string"}
FLAG: Schema = {"type": "boolean"}
NUMBER: Schema = {"type": "number"}
EXPRESSION: Schema = {"type": ["string", "integer"]}
REAL: Schema = {"type": ["string", "number"]}
SCALAR: Schema = {"type": ["string", "number", "boolean"]}
XYZ = one(EXPRESSION, listed(EXPRESSION, 3))
TEXTS = one(TEXT, listed(TEXT))
DTYPE = {"$ref": "#/definitions/dtype"}
OPTIONAL: Schema = {"type": ["string", "integer", "null"]}  # null: not the family's

PARAMETER: Level = {
    "default": about(one({"type": ["string", "number", "boolean"]}, listed(SCALAR)), "a value, or an expression"),
    "allowed": about(listed(SCALAR), "the permitted values"),
    "kind": about(word(k for k in Kind if k is not Kind.OPTIONS), "the notation of the values"),
}
PARAMETERS: Schema = {
    "type": "object",
    "properties": {name: {"$ref": "#/definitions/parameter"} for name in VOCABULARY},
    "additionalProperties": {"$ref": "#/definitions/parameter"},
    "propertyNames": {"pattern": f"^{NAME}$", "not": {"enum": sorted(RESERVED - set(PARTS))}},
}

_RECIPES = [level({kind: one(REAL, listed(REAL, count))}, kind) for kind, count in NUMBERS.items()]
_FILL_WORDS = word((*FILLS, *WORDS, *NOT_FINITE))
FILL: Schema = one(_FILL_WORDS, REAL, listed(REAL), *_RECIPES, {"type": "object"})  # the last one: of members

TEXTURE: Level = {
    **{key: one(word(modes), TEXT) for key, modes in TEXTURE_MODES.items() if key != "address_mode"},
    "address_mode": one(word(TEXTURE_MODES["address_mode"]), TEXT, listed(TEXT, 3)),
    "normalized_coords": FLAG,
    "border_color": listed(NUMBER, 4),
}
ARRAY: Level = {
    "name": about(TEXT, "its name in expressions and messages"),
    "role": about(
        word(Role),
        "`in`: read only. `out`: poisoned before each check. `inout`: restored before each launch, which is not timed. "
        "`state`: zeroed once; each launch must leave it ready for the next. `scratch`: working memory, not checked",
    ),
    "dtype": about(DTYPE, "the type of an element, or the name of a parameter that holds one"),
    "shape": about(
        one(EXPRESSION, listed(EXPRESSION, MAX_AXES)),
        "the number of elements, or the lengths of up to four axes, the contiguous one last. A texture or surface has "
        "up to three",
    ),
    "fill": about(FILL, "for `in` and `inout`: the content before a launch"),
    "lead": about(
        EXPRESSION,
        "elements before the one that the kernel's pointer refers to: with `shape: size + 2 * radius` and `lead: "
        "radius` a stencil may read its halo. The reference sees the whole array. Default: 0",
    ),
    "offset": about(
        EXPRESSION,
        "elements between an aligned address and the array. A write before the array is out of bounds. Default: 0",
    ),
    "constant": about(
        FLAG,
        "`true`: a `__constant__` or `__device__` array of that name, not an argument. The source's array may have "
        "more elements. An output must be a `__device__` array",
    ),
    "passed": about(
        FLAG, "`false`: the kernel accesses the array only by a structure's `pointer` or an array of pointers"
    ),
    "refill": about(FLAG, "`false`: the check never replaces the content"),
    "pointers": about(
        FLAG, "`true`: the kernel receives an array of pointers (`float**`), one to each part along the first axis"
    ),
    "texture": about(level(TEXTURE), "the kernel receives a texture object of the array"),
    "surface": about(FLAG, "`true`: the kernel receives a surface object of the array"),
}
SCALAR_ARGUMENT: Level = {
    "name": about(TEXT, "its name. It may be that of a parameter, if it passes that parameter"),
    "scalar": about(DTYPE, "the type of the number, or the name of a parameter that holds one"),
    "value": about(
        one(SCALAR, {"type": ["array", "object", "null"]}),
        "an expression, or a number such as 2.5; a list for a vector, a mapping of its members for a structure",
    ),
}
POINTER: Level = {
    "name": about(TEXT, "its name"),
    "pointer": about({"type": ["string", "null"]}, "the name of an array, or `null`"),
    "at": about(EXPRESSION, "the element to which it points. Default: 0"),
}
POINTERS: Level = {
    "name": about(TEXT, "its name"),
    "pointers": about(
        listed({"type": ["string", "null"]}), "the arrays to which an array of pointers refers, each a name or `null`"
    ),
}
VIEW: Level = {
    "name": about(TEXT, "its name"),
    "of": about(TEXT, "an array that is an argument itself, too"),
    "texture": about(level(TEXTURE), "the kernel receives a texture object of that array"),
}
ARGUMENT = one(
    level(ARRAY, "name", "role", "dtype", "shape"),
    level(SCALAR_ARGUMENT, "name", "scalar", "value"),
    level(POINTER, "name", "pointer"),
    level(POINTERS, *POINTERS),
    level(VIEW, "name", "of", "texture"),
)

LAUNCH: Level = {
    "source": about(
        TEXT, "another `.cu` that has the function, relative to the YAML's folder. Default: the kernel's source"
    ),
    "function": about(
        TEXT,
        "a `__global__` function of the source, written as in the kernel's key `function`. All launches of a source "
        "share its `__device__` variables. Default: the kernel's function",
    ),
    "arguments": about(
        listed(TEXT),
        "the names of its arguments, in order, from the kernel's key `arguments`. Default: all except `constant` ones",
    ),
    "grid": about(XYZ, "blocks in x, y, z. Default: the kernel's"),
    "block": about(XYZ, "threads of a block in x, y, z. Default: the kernel's"),
    "shared": about(EXPRESSION, "bytes of dynamic shared memory of a block. Default: the kernel's"),
}
MEMSET: Level = {
    "memset": about(
        TEXT,
        "sets each element of this array to `value`, or each byte to `byte` (`cuMemsetD8Async`, `D16`, `D32`). The "
        "bytes of an element must repeat 1, 2 or 4 bytes",
    ),
    "value": about(REAL, "an expression, or a number such as `.inf`. Default: 0"),
    "byte": about(EXPRESSION, "0 to 255"),
}
COPY: Level = {
    "copy": about(
        level({"from": TEXT, "to": TEXT}, "from", "to"),
        "`{from: ARRAY, to: ARRAY}`: copies all bytes (`cuMemcpyDtoDAsync`). Both arrays have the same number of bytes",
    )
}
LOOP: Level = {
    "for": about(
        by_name(EXPRESSION, NAME),
        "`{name: end, ...}`: repeats the step for 0, 1, ..., end - 1 of each name; the last name varies fastest. The "
        "step's expressions, and the values of scalars and pointers, may use the names. Default: once",
    ),
    "launches": {"$ref": "#/definitions/launches", "description": "with `for`: the steps to repeat"},
}

STEPS: Sequence[tuple[Level, Sequence[str]]] = ((LAUNCH, ()), (MEMSET, ("memset",)), (COPY, ("copy",)))
"""What a step may be, and the keys that it needs."""

BYTES: Level = {"read": OPTIONAL, "written": OPTIONAL}
TOLERANCE: Level = {"rtol": REAL, "atol": REAL, "ulp": REAL}
SHUFFLE: Level = {"operation": word(INTRINSICS), "argument": EXPRESSION}
HAZARD: Level = {"when": REAL, "reason": TEXT}
CONSTRAINT: Level = {"require": REAL, "reason": TEXT}
METRIC: Level = {"value": REAL, "unit": TEXT, "better": word(("", "lower", "higher"))}
MEMBER = one(TEXT, {"type": "array", "items": [TEXT, {"type": "integer"}], "minItems": 2, "maxItems": 2})
STRUCT: Schema = {
    "type": "object",
    "properties": {"__align__": {"enum": [1, 2, 4, 8, 16]}},
    "additionalProperties": MEMBER,
}

OWN: Level = {
    "name": about(TEXT, "must be the file's name, which is the default"),
    "family": about(
        TEXT,
        "kernels that do the same work, so that their times can be compared. The family's file has keys that they "
        "share. Default: the kernel's name",
    ),
}
"""Keys that a family's file lacks."""
KEYS: Level = {
    **OWN,
    "source": about(
        TEXT,
        "the `.cu`, relative to the YAML's folder; or a `.py`, `.ptx`, `.cubin` or `.fatbin`. Default: `NAME.cu` "
        "beside the YAML, else `../../kernels/NAME.cu`",
    ),
    "function": about(
        TEXT,
        "the `__global__` function: its name with namespaces, and its arguments if it is a template. If several "
        "functions have the name, add the parameter types: `blur(float*, int)`. In template arguments, the name of a "
        "parameter, of a part such as `block_x`, or of a `let` is replaced by its value, and a dtype by its C++ type. "
        "Everything else is C++. Default: the kernel's name",
    ),
    "include": about(
        TEXTS,
        'a folder or a list of folders with included files (`"..."` or `<...>`), relative to the YAML\'s folder',
    ),
    "summary": about(TEXT, "a one-line description"),
    "origin": about(TEXT, "where the kernel comes from"),
    "parameters": about(PARAMETERS, "each parameter: its default, or `{default, allowed, kind}`. Required"),
    "let": about(
        by_name(SCALAR, NAME),
        "names for expressions, such as `{tiles: ceil_div(size, block)}`, which other expressions may use. A name for "
        "an expression over arrays, such as `{middle: mean(in)}`, is for references alone",
    ),
    "macros": about(
        one(listed(one(TEXT, by_name(EXPRESSION))), by_name(EXPRESSION)),
        "a list, or a mapping such as `{TILE: tile}`. `BLOCK` is the parameter `block`, `SCALAR` is `dtype`, and "
        "`{TWICE: 2 * block}` is an expression",
    ),
    "arguments": about(listed(ARGUMENT), "arrays, scalars and pointers, in the kernel's order. Required"),
    "structs": about(by_name(STRUCT), "the structures of the arguments: `{Name: {member: type}}`"),
    "grid": about(XYZ, "blocks: one expression, or a list of x, y, z. Required, unless each launch has its own"),
    "shared": about(EXPRESSION, "bytes of dynamic shared memory of a block. Default: 0"),
    "launches": {
        "$ref": "#/definitions/launches",
        "description": "several launches, timed as one. Default: one launch",
    },
    "constraints": about(
        one(by_name(TEXT), listed(level(CONSTRAINT, *CONSTRAINT))),
        "`condition: reason`. A case that does not meet a condition is `skipped`, with the reason and the values. "
        "Without a constraint, the kernel must be right at any size: the check tries others",
    ),
    "reference": about(
        one(TEXT, by_name(REAL)),
        "the expected outputs: an expression for each, or the dotted path of a Python function. Required",
    ),
    "undefined_where": about(
        by_name(REAL), "`{output: condition}`: the elements that the kernel leaves undefined; they are not compared"
    ),
    "no_output": about(
        TEXT,
        "instead of `reference`: why the kernel has no output. It must end, and must not write to its inputs or "
        "outside an array",
    ),
    "value": about({"type": ["string", "null"]}, "one number that summarizes the outputs, such as `sum(out)`"),
    "compute": about(
        TEXT,
        "the dtype in which the kernel computes, or the parameter that holds it. With half types: "
        "`float16` or `bfloat16` if the kernel also adds in it, `float32` if it only stores in it. Default: the least "
        "precise dtype of the float arrays; sums of half types in `float32`",
    ),
    "depth": about(
        OPTIONAL,
        "the longest chain of rounded additions in a sum. The bound of its error is then d u / (1 - d u) times the sum "
        "of magnitudes: d is the depth, u is half of the dtype's eps (Higham). Default: any order of additions",
    ),
    "fast_math": about(
        FLAG,
        "`true`: the kernel uses fast functions such as `__expf`, so their larger errors are allowed. Default: "
        "`false`; nvcc's options are known",
    ),
    "tolerance": about(
        level(TOLERANCE),
        "`{rtol, atol, ulp}`, any of them, in place of the bound of the rounding error: an element is right within "
        "`atol + rtol * abs(expected)`, or within `ulp` units in the last place",
    ),
    "bytes": about(
        level(BYTES),
        "`{read, written}`: the least number of bytes that any kernel of the family must move, for bandwidths",
    ),
    "operations": about(OPTIONAL, "the number of arithmetic operations, for the columns `operations` and `gflops`"),
    "metrics": about(by_name(one(REAL, level(METRIC, "value"), level(METRIC))), "columns of your own"),
    "in_flight": about(
        OPTIONAL,
        "bytes of global memory that a thread requests before its first wait, without those shared with neighbouring "
        "threads. With the occupancy they give the column `bytes_in_flight`",
    ),
    "baseline": about(TEXT, "the kernel for the speed-up. In a series of optimization steps, it is the previous step"),
    "ceiling": about(
        FLAG,
        "`true`: the kernel does less than the others of its family, as a copy does less than a transpose. It is "
        "measured and drawn as a limit, but not ranked. Default: `false`",
    ),
    "finish": about(
        word(("host", "device")),
        "`device`: the launch computes the complete result; `host`: the host adds partial results, which is not timed. "
        "Default: `device`",
    ),
    "min_arch": about(
        {"type": ["string", "integer"]}, "the oldest architecture, such as `sm_90`; older GPUs skip the kernel"
    ),
    "gpu_only": about(
        TEXT,
        "why the CPU device cannot run the kernel, such as `bulk copies are inline PTX`; it skips the kernel with this "
        "reason",
    ),
    "cooperative": about(
        FLAG,
        "`true`: a cooperative launch. All blocks are resident at once, so `cooperative_groups::this_grid().sync()` "
        "works. A grid that the device cannot hold is `skipped` with the number of blocks that fit. Default: `false`",
    ),
    "host": about(
        FLAG,
        "`true`: the function is one of the host, which queues its work on a stream, such as a call of cuBLAS. "
        "Default: `false`",
    ),
    "libraries": about(TEXTS, "what a host function is linked with, such as `[cublas]`"),
    "shuffle": about(
        level(SHUFFLE, *SHUFFLE),
        "the kernel is one shuffle of the array `in` into `out`: `{operation, argument}`, whose operation is `idx`, "
        "`wrap`, `up`, `down`, `xor` or `swap`. The report then draws which lane received which lane's register. Needs "
        "the parameters `block`, `width` and `mask`",
    ),
    "hazard": about(
        level(HAZARD, *HAZARD),
        "the kernel breaks a rule of CUDA on purpose: `{when, reason}`. On a GPU such a case is skipped; the CPU "
        "device should report a hazard",
    ),
}

DEFINITIONS: Level = {
    "dtype": one(word(DTYPES), TEXT),
    "launches": about(
        listed(
            one(
                *(level({**step, "for": LOOP["for"]}, *needed) for step, needed in STEPS),
                level(LOOP, "for"),
            )
        ),
        "launches, memsets and copies, timed as one",
    ),
    "parameter": one({"type": ["string", "number", "boolean", "null"]}, listed(SCALAR), level(PARAMETER)),
}
"""What the schemas refer to."""

MEANT = {
    "args": "arguments", "inputs": "arguments", "outputs": "arguments", "params": "parameters",
    "tune_params": "parameters", "restrictions": "constraints", "requires": "constraints", "defines": "macros",
    "smem": "shared", "shared_memory": "shared", "dynamic_shared": "shared", "flops": "operations",
    "expected": "reference", "answer": "reference", "check": "reference", "kernel": "function",
    "kernel_name": "function", "entry": "function", "file": "source", "kernel_source": "source", "kernels": "launches",
    "steps": "launches", "type": "dtype", "size": "shape", "dims": "shape", "length": "shape", "init": "fill",
    "content": "fill", "values": "allowed", "choices": "allowed", "range": "allowed", "repeat": "for",
}  # fmt: skip
"""What people write instead of a key, for messages."""
