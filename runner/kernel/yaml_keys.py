"""The keys of a kernel's YAML, level by level, each with the JSON schema of its value.

The reader accepts the keys of these tables and no others. `runner.kernel.yaml_schema` makes the schema for editors of
them. The schema describes the form of a value; only the reader knows what an expression means.
"""

from __future__ import annotations

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
    """The schema with a description, which editors show."""
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
    "role": about(word(Role), "in: read; out: written; inout: both; state: zeroed once; scratch: not checked"),
    "dtype": about(DTYPE, "the type of an element, or the parameter that holds it"),
    "shape": about(one(EXPRESSION, listed(EXPRESSION, MAX_AXES)), "elements, or the lengths of the axes"),
    "fill": about(FILL, "the content before a launch"),
    "offset": about(EXPRESSION, "elements between an aligned address and the array"),
    "lead": about(EXPRESSION, "elements before the one that the kernel's pointer refers to"),
    "constant": about(FLAG, "a __constant__ or __device__ array of that name"),
    "refill": about(FLAG, "whether the check may replace the content"),
    "passed": about(FLAG, "false: accessed through a structure's pointer alone"),
    "texture": about(level(TEXTURE), "the kernel receives a texture object"),
    "surface": about(FLAG, "the kernel receives a surface object"),
    "pointers": about(FLAG, "true: an array of pointers, one to each part along the first axis"),
}
SCALAR_ARGUMENT: Level = {
    "name": TEXT,
    "scalar": about(DTYPE, "the type of the number"),
    "value": about(one(SCALAR, {"type": ["array", "object", "null"]}), "an expression, or a number"),
}
POINTER: Level = {
    "name": TEXT,
    "pointer": about({"type": ["string", "null"]}, "an array, or null"),
    "at": about(EXPRESSION, "the element that it refers to"),
}
POINTERS: Level = {
    "name": TEXT,
    "pointers": about(listed({"type": ["string", "null"]}), "the arrays to which an array of pointers refers, or null"),
}
VIEW: Level = {"name": TEXT, "of": about(TEXT, "an array"), "texture": level(TEXTURE)}
ARGUMENT = one(
    level(ARRAY, "name", "role", "dtype", "shape"),
    level(SCALAR_ARGUMENT, "name", "scalar", "value"),
    level(POINTER, "name", "pointer"),
    level(POINTERS, *POINTERS),
    level(VIEW, "name", "of", "texture"),
)

LAUNCH: Level = {
    "source": about(TEXT, "another .cu that has the function, relative to this folder"),
    "function": about(TEXT, "a __global__ function of the source"),
    "arguments": about(listed(TEXT), "the names of its arguments, in order"),
    "grid": about(XYZ, "blocks in x, y, z"),
    "block": about(XYZ, "threads of a block in x, y, z"),
    "shared": about(EXPRESSION, "bytes of dynamic shared memory"),
}
MEMSET: Level = {
    "memset": about(TEXT, "the array whose elements get the value, or its bytes the byte"),
    "value": about(REAL, "of each element; by default 0"),
    "byte": about(EXPRESSION, "of each byte, 0 to 255"),
}
COPY: Level = {"copy": about(level({"from": TEXT, "to": TEXT}, "from", "to"), "copies all bytes of an array")}
LOOP: Level = {
    "for": about(by_name(EXPRESSION, NAME), "{name: end}: repeats for 0, 1, ..., end - 1"),
    "launches": {"$ref": "#/definitions/launches"},
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
    "name": about(TEXT, "must be the file's name"),
    "family": about(TEXT, "kernels that do the same work; its file has keys that they share"),
}
"""Keys that a family's file lacks."""
KEYS: Level = {
    **OWN,
    "source": about(TEXT, "the .cu, relative to this folder; or a .py, .ptx, .cubin or .fatbin"),
    "host": about(FLAG, "true: a function of the host that queues work on a stream"),
    "libraries": about(TEXTS, "what a host function is linked with"),
    "include": about(TEXTS, "folders of included files, relative to this folder"),
    "function": about(TEXT, "the __global__ function, with namespaces and template arguments"),
    "summary": about(TEXT, "a one-line description"),
    "origin": about(TEXT, "where the kernel comes from"),
    "baseline": about(TEXT, "the kernel for the speed-up"),
    "ceiling": about(FLAG, "true: it does less than the others of its family, and is not ranked"),
    "finish": about(word(("host", "device")), "where the result is completed"),
    "min_arch": about({"type": ["string", "integer"]}, "the oldest architecture, such as sm_90"),
    "gpu_only": about(TEXT, "why the CPU device cannot run the kernel"),
    "cooperative": about(FLAG, "true: a cooperative launch"),
    "parameters": about(PARAMETERS, "each parameter: its default, or {default, allowed, kind}"),
    "let": about(by_name(SCALAR, NAME), "names for expressions"),
    "macros": about(one(listed(one(TEXT, by_name(EXPRESSION))), by_name(EXPRESSION)), "BLOCK, or {NAME: expression}"),
    "arguments": about(listed(ARGUMENT), "arrays, scalars and pointers, in the kernel's order"),
    "structs": about(by_name(STRUCT), "the structures of the arguments: {member: type}"),
    "grid": about(XYZ, "blocks: one expression, or a list of x, y, z"),
    "launches": {"$ref": "#/definitions/launches"},
    "shared": about(EXPRESSION, "bytes of dynamic shared memory of a block"),
    "constraints": about(
        one(by_name(TEXT), listed(level(CONSTRAINT, *CONSTRAINT))), "{condition: reason} that each case must meet"
    ),
    "bytes": about(level(BYTES), "the least number of bytes that a kernel of the family must move"),
    "operations": about(OPTIONAL, "the number of arithmetic operations"),
    "metrics": about(by_name(one(REAL, level(METRIC, "value"), level(METRIC))), "columns of your own"),
    "in_flight": about(OPTIONAL, "bytes that a thread requests before its first wait"),
    "reference": about(one(TEXT, by_name(REAL)), "{output: expression}, or the dotted path of a function"),
    "undefined_where": about(by_name(REAL), "{output: condition}: elements that are not compared"),
    "no_output": about(TEXT, "instead of a reference: why the kernel has no output"),
    "value": about({"type": ["string", "null"]}, "one number that summarizes the outputs"),
    "depth": about(OPTIONAL, "the longest chain of rounded additions"),
    "compute": about(TEXT, "the dtype in which the kernel computes, or its parameter"),
    "fast_math": about(FLAG, "true: the kernel uses fast functions such as __expf"),
    "tolerance": about(level(TOLERANCE), "the allowed difference of floats"),
    "shuffle": about(level(SHUFFLE, *SHUFFLE), "the kernel is one shuffle of `in` into `out`"),
    "hazard": about(level(HAZARD, *HAZARD), "the kernel breaks a rule of CUDA on purpose"),
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
