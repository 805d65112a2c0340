"""Reads `arguments:` in a kernel's YAML, the structures in them, and `launches:`, which use them."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

from runner.bounds.array_expression import ArrayExpression
from runner.device import Form, Role, Surface, form_of
from runner.errors import UsageError
from runner.kernel import yaml_form, yaml_keys
from runner.kernel.arrays import DTYPE_ALIASES, DTYPES, FILLS, FORMER_NAMES, POINTER, DType, Field, structure
from runner.kernel.declaration import (
    TEXTURE_MODES,
    ArrayArgument,
    DeclaredTexture,
    Entry,
    Kind,
    Loop,
    MemoryStep,
    Parameter,
    PointerArgument,
    ScalarArgument,
    Step,
)
from runner.kernel.expression import Expression
from runner.kernel.recipes import NUMBERS, WORDS, Fill, MemberFills, Recipe
from runner.kernel.yaml_reader import Reader, shown

Argument = ArrayArgument | ScalarArgument | PointerArgument
NOT_FINITE = {
    text: math.nan if text == "nan" else float(text) for text in yaml_keys.NOT_FINITE
}  # one NaN: it is itself
_HUGE = re.compile(r"[eE][+-]?[0-9_]{4,}|.{400}")  # a Fraction would need as many digits
MAX_NUMBERS = 1 << 14  # in a structure: nested structures double it with each level
INDICES = ("index", "index0", "index1", "index2", "index3")  # names for a fill's expression


def structs(d: Reader) -> dict[str, DType]:
    """The key `structs`: the types of members in order, where `[type, n]` is a C array."""
    found: dict[str, DType] = {}
    numbers: dict[str, int] = {}
    for name, content in d.items("structs"):
        level = d.level(f"structs.{name}", content)
        if not re.fullmatch(r"[A-Za-z_]\w{0,63}", str(name)) or name in DTYPES or not level.raw:
            raise UsageError(f"{level.where}: expected the name of a structure in C++ and its members")
        members = []
        for member, given in level.raw.items():
            if member == "__align__":
                continue
            word, count = given if isinstance(given, list) and len(given) == 2 else (given, 0)
            dtype = {**DTYPES, **found, POINTER.name: POINTER}.get(DTYPE_ALIASES.get(str(word), str(word)))
            if dtype is None or not isinstance(count, int) or (isinstance(given, list) and count < 1):
                raise UsageError(
                    f"{level.where}: {member}: expected a dtype, or [dtype, length] for a C array, not {shown(given)}; "
                    f"dtypes: {', '.join((*DTYPES, *found, POINTER.name))}"
                )
            if not re.fullmatch(r"[A-Za-z_]\w{0,63}", str(member)):
                raise UsageError(f"{level.where}: {shown(member)} is not the name of a member")
            members.append((str(member), dtype, count))
        numbers[str(name)] = sum(max(count, 1) * numbers.get(dtype.name, dtype.numbers) for _, dtype, count in members)
        if numbers[str(name)] > MAX_NUMBERS:
            raise UsageError(
                f"{level.where}: a structure has at most {MAX_NUMBERS:,} numbers, not {numbers[str(name)]:,}"
            )
        alignment = level.raw.get("__align__", 1)
        if alignment not in (1, 2, 4, 8, 16):
            raise UsageError(f"{level.where}: __align__: expected 1, 2, 4, 8 or 16, not {shown(alignment)}")
        found[str(name)] = structure(str(name), members, alignment)
    return found


def array_types(d: Reader, parameters: Sequence[Parameter]) -> dict[str, tuple[DType, ...]]:
    """The arrays among `arguments` and the possible types of each, which other keys need before arguments are read."""
    choices = {p.name: (p.default, *p.allowed) for p in parameters if p.kind is Kind.DTYPE}
    types = {**DTYPES, **d.structs}
    arrays = [a for a in d.sequence("arguments") if isinstance(a, dict) and "shape" in a]
    return {
        str(a.get("name")): tuple(
            types[str(w)] for w in choices.get(str(a.get("dtype")), (a.get("dtype"),)) if str(w) in types
        )
        for a in arrays
    }


def array_shapes(d: Reader) -> dict[str, list[str]]:
    """The lengths of each array among `arguments` as text, which `stride` needs before arguments are read."""
    arrays = [a for a in d.sequence("arguments") if isinstance(a, dict) and "shape" in a]
    lengths = [a["shape"] if isinstance(a["shape"], list) else [a["shape"]] for a in arrays]
    return {str(a.get("name")): list(map(str, each)) for a, each in zip(arrays, lengths, strict=True)}


def argument(d: Reader, counters: Collection[str]) -> Argument:
    """Read an entry of `arguments:`: an array, a scalar, or a pointer into another array.

    Scalars and pointers may use the `counters` of loops in `launches`.
    """
    d.need("name")
    if "scalar" in d.raw:
        d.counters = counters
        return _scalar(d.exactly(*yaml_keys.SCALAR_ARGUMENT))
    if "pointer" in d.raw or "of" in d.raw or ("pointers" in d.raw and "shape" not in d.raw):
        return _pointer(d, counters)
    if "value" in d.raw and "shape" not in d.raw:
        raise UsageError(f"{d.where}: a value needs its type, as in {{name: n, scalar: int32, value: size}}")
    d.only(yaml_keys.ARRAY)
    d.need("role", "dtype", "shape")
    role = _role(d)
    constant, refill = d.flag("constant", default=False), d.flag("refill", default=True)
    for key in ("offset", "lead"):
        if constant and key in d.raw:
            raise UsageError(f"{d.where}: {key}: not allowed with a __constant__ or __device__ array")
    if image := _image(d):
        if unfit := [key for key in ("constant", "offset", "lead") if key in d.raw]:
            raise UsageError(f"{d.where}: {unfit[0]}: not allowed with a texture or a surface")
        if isinstance(image, DeclaredTexture) and role is not Role.IN:
            raise UsageError(f"{d.where}: role: a kernel only reads a texture: expected in, not {role}")
    split = _split(d)
    shape, offset, lead = d.expressions("shape", yaml_keys.MAX_AXES), d.expression("offset", 0), d.expression("lead", 0)
    word, fill = d.text("dtype"), d.raw.get("fill", "zeros")
    if word in d.structs and any(kind == POINTER for kind in _members(d.structs[word])):
        raise UsageError(f"{d.where}: dtype: {word} has a pointer; such a structure can only be passed by value")
    filled, passed = _fill(d, fill, f"{d.where}: fill", d.structs.get(word)), d.flag("passed", default=True)
    return ArrayArgument(
        d.text("name"), role, word, shape, filled, offset, lead, constant, refill, image, passed=passed, split=split
    )


def _split(d: Reader) -> bool:
    """Read the key `pointers` of an array: whether its parts are arrays of their own."""
    split = d.flag("pointers", default=False)
    for key in ("constant", "offset", "lead", "texture", "surface"):
        if split and key in d.raw:
            raise UsageError(f"{d.where}: {key}: not allowed with 'pointers: true'")
    return split


def _image(d: Reader) -> DeclaredTexture | Surface | None:
    """Read the keys `texture` and `surface` of an array; `None` for a plain pointer."""
    surface = d.flag("surface", default=False)
    if surface and "texture" in d.raw:
        raise UsageError(f"{d.where}: an array is a texture or a surface, not both")
    return Surface() if surface else _texture(d) if "texture" in d.raw else None


def _texture(d: Reader) -> DeclaredTexture:
    level = d.level("texture", d.raw["texture"])
    level.only(yaml_keys.TEXTURE)
    words = []
    for key, allowed in TEXTURE_MODES.items():
        given = level.raw.get(key, allowed[0])
        several = given if isinstance(given, list) and key == "address_mode" and 1 <= len(given) <= 3 else [given]
        for word in several:
            if not isinstance(word, str) or word not in (*allowed, *level.known):
                raise UsageError(f"{level.where}: {key}: expected one of {', '.join(allowed)}, not {shown(word)}")
            level.used.add(word)
        words.append((key, tuple(several)))
    border = level.sequence("border_color") or [0]
    if len(border) > 4 or not all(isinstance(n, int | float) for n in border):
        raise UsageError(f"{level.where}: border_color: expected up to 4 numbers, not {shown(border)}")
    return DeclaredTexture(tuple(words), level.flag("normalized_coords", default=False), (*border, 0, 0, 0)[:4])


def _scalar(d: Reader) -> ScalarArgument:
    """Read a scalar: a number, a list for a vector, a mapping of members for a structure."""
    word = d.text("scalar")
    dtype = {**DTYPES, **d.structs}.get(word)
    return ScalarArgument(d.text("name"), word, tuple(_numbers(d, "value", d.raw["value"], dtype)))


def _members(dtype: DType) -> Iterator[DType]:
    for f in dtype.fields:
        yield f.dtype
        yield from _members(f.dtype)


def _numbers(d: Reader, key: str, value: Any, dtype: DType | None) -> Iterator[Expression | float | PointerArgument]:
    """The numbers of a value, in the order of their memory layout."""
    if isinstance(value, dict):
        if dtype is None or not dtype.parts or sorted(map(str, value)) != sorted(dtype.parts):
            expected = ", ".join(dtype.parts) if dtype and dtype.parts else "a number"
            raise UsageError(f"{d.where}: {key}: expected {expected}, not {', '.join(map(str, value)) or 'nothing'}")
        members = {f.name: f for f in dtype.fields}
        for part in dtype.parts:
            if (field := members.get(part)) and field.count and isinstance(value[part], list):
                yield from _array(d, f"{key}.{part}", value[part], field)
            else:
                yield from _numbers(d, f"{key}.{part}", value[part], field.dtype if field else None)
    elif isinstance(value, list):
        for i, number in enumerate(value):
            yield from _numbers(d, f"{key}[{i}]", number, dtype)
    elif dtype == POINTER:
        yield PointerArgument(key, _target(d, key, value), d.as_expression(key, 0))
    else:
        truth = int(value) if isinstance(value, bool) and dtype is not None and dtype.name == "bool" else value
        real = dtype is None or dtype.is_float
        yield truth if isinstance(truth, float) else d.as_expression(key, truth, real=real)


def _array(d: Reader, key: str, value: list[Any], field: Field) -> Iterator[Expression | float | PointerArgument]:
    """The numbers of a C array; as in C++, those of the elements that are not given are 0 or null."""
    leaves = [leaf for _, leaf in field.dtype.leaves()]
    given = list(_numbers(d, key, value, field.dtype))
    elements, odd = divmod(len(given), len(leaves))
    if odd or elements > field.count:
        what = f"{field.count} of {field.dtype.name}, {len(leaves)} numbers each" if len(leaves) > 1 else field.count
        raise UsageError(f"{d.where}: {key}: expected at most {what}; {len(given)} are given")
    yield from given
    for leaf in leaves * (field.count - elements):
        yield from _numbers(d, key, None if leaf == POINTER else 0, leaf)


def _pointer(d: Reader, counters: Collection[str]) -> PointerArgument:
    """Read `pointer: null`, `pointer: ARRAY` with `at`, a `texture` `of` an array, or `pointers: [ARRAY, ...]`."""
    if "pointers" in d.raw:
        return _pointers(d.exactly(*yaml_keys.POINTERS))
    if "of" in d.raw:
        d.only(yaml_keys.VIEW)
        d.need("texture")
        array = _target(d, "of", d.raw["of"], "the name of an array")
        return PointerArgument(d.text("name"), array, d.expression("at", 0), _texture(d))
    d.only(yaml_keys.POINTER)
    d.counters = counters
    return PointerArgument(d.text("name"), _target(d, "pointer", d.raw["pointer"]), d.expression("at", 0))


def _pointers(d: Reader) -> PointerArgument:
    """Read `pointers: [ARRAY, ...]`, an array of pointers."""
    arrays = tuple(_target(d, f"pointers[{i}]", array) for i, array in enumerate(d.sequence("pointers")))
    if not arrays:
        raise UsageError(f"{d.where}: pointers: expected a list of arrays, such as [a, b]")
    return PointerArgument(d.text("name"), "", d.as_expression("at", 0), arrays=arrays)


def _target(d: Reader, key: str, array: Any, expected: str = "null or the name of an array") -> str:
    """The array that a pointer or texture refers to; empty for null."""
    if array is None and expected.startswith("null"):
        return ""
    if not isinstance(array, str) or array not in d.arrays:
        known = ", ".join(d.arrays)
        raise UsageError(f"{d.where}: {key}: expected {expected}, not {shown(array)}; known: {known}")
    return array


def _role(d: Reader) -> Role:
    """Read the role of an array, which decides whether it has a fill."""
    role = Role(d.choice("role", list(Role)))
    if role in (Role.IN, Role.INOUT) and "fill" not in d.raw:
        raise UsageError(
            f"{d.where}: the key 'fill' is missing; an array of role '{role}' needs one of {', '.join(FILLS)}, a "
            f"parameter that holds one, a list of numbers, or a recipe such as {{range: [0, 10]}}"
        )
    if "fill" in d.raw and role not in (Role.IN, Role.INOUT):
        raise UsageError(
            f"{d.where}: fill: not allowed with role '{role}', as such an array has no content before a launch; use "
            "the role 'in' or 'inout', or remove 'fill'"
        )
    return role


def _fill(d: Reader, given: Any, where: str, struct: DType | None) -> Fill | MemberFills:
    match given:
        case dict() if struct:
            if unknown := [str(n) for n in given if n not in struct.parts]:
                allowed = ", ".join(struct.parts)
                raise UsageError(f"{where}: '{unknown[0]}' is not a member of {struct.name}; allowed: {allowed}")
            members = [(f.name, f.dtype if f.dtype.fields else None) for f in struct.fields]
            return MemberFills(tuple((n, _fill(d, given.get(n, "zeros"), f"{where}.{n}", of)) for n, of in members))
        case dict():
            return _recipe(d, given, where)
        case list():
            try:
                return tuple(map(_number, given))
            except (ValueError, ZeroDivisionError, OverflowError):
                raise UsageError(f"{where}: expected numbers such as 0.5, -1/280 or -inf, not {given}") from None
        case bool() | None:
            raise UsageError(f"{where}: expected text, a number, a list or a recipe, not {shown(given)}")
        case int() | float():
            return Recipe("constant", where, (NOT_FINITE.get(str(given), given),))
    return _text_fill(d, str(given), where)


def _number(given: Any) -> int | float:
    """A number of a list of contents, such as `-1/280` or `-inf`. Raises ValueError or ArithmeticError otherwise."""
    if str(given) in NOT_FINITE:
        return NOT_FINITE[str(given)]
    if _HUGE.search(str(given)):
        raise ValueError(given)
    n = Fraction(str(given))
    if not math.isfinite(float(n)):
        raise ValueError(given)
    return int(n) if n.denominator == 1 else float(n)


def _text_fill(d: Reader, text: str, where: str) -> Fill:
    """Read a fill given as text: a word, a file, or an expression over the indices and other arrays."""
    if text in WORDS:
        return Recipe(text, where)
    if text in NOT_FINITE and text not in d.known:
        return Recipe("constant", where, (NOT_FINITE[text],))
    if text.endswith(".npy"):
        return Recipe("file", where, file=_file(d, text, where))
    if re.fullmatch(r"\w+", text) and text not in d.arrays:
        return FORMER_NAMES.get(text, text)
    formula = ArrayExpression(text, where)
    known = {*d.known, *d.array_names, *INDICES}
    if unknown := sorted(formula.names - known):
        raise UsageError(f"{formula.shown} names '{unknown[0]}', which is unknown; known: {', '.join(sorted(known))}")
    d.used |= formula.names
    return Recipe("expression", where, formula=formula, needed_arrays=tuple(sorted(formula.names & d.array_names)))


def _file(d: Reader, name: str, where: str) -> Path:
    path = Path(os.path.realpath(d.folder / name))  # takes links that lead in a circle
    if not path.is_file():
        raise UsageError(f"{where}: the file '{name}' was not found in {d.folder}")
    if not path.is_relative_to(d.folder.resolve()):
        raise UsageError(
            f"{where}: '{name}' is outside {d.folder}; move it beside the YAML, so that a sweep can store it"
        )
    return path


def _recipe(d: Reader, given: Mapping[str, Any], where: str) -> Recipe:
    kind = str(next(iter(given), ""))
    if len(given) != 1 or kind not in NUMBERS:
        raise UsageError(f"{where}: expected one of {', '.join(NUMBERS)} with its numbers, not {shown(dict(given))}")
    values = given[kind] if isinstance(given[kind], list) else [given[kind]]
    needs: tuple[str, ...] = ()
    if kind == "columns":
        needs, values = (str(values[0]),), values[1:]
        if needs[0] not in d.arrays:
            raise UsageError(
                f"{where}: columns: '{needs[0]}' is not an array; expected [row pointers, number of columns]"
            )
    if len(values) != NUMBERS[kind]:
        raise UsageError(f"{where}: {kind}: expected {NUMBERS[kind]} numbers, not {len(values)}")
    if kind == "constant" and str(values[0]) in NOT_FINITE:
        return Recipe(kind, where, (NOT_FINITE[str(values[0])],))
    numbers = tuple(v if isinstance(v, float) else d.as_expression(f"fill.{kind}", v, real=True) for v in values)
    return Recipe(kind, where, numbers, needed_arrays=needs)


def loop_names(entries: Any) -> set[str]:
    """The names of the counters of loops in `launches`, which arguments need before launches are read."""
    inner = [e for e in entries if isinstance(e, dict)] if isinstance(entries, list) else []
    own = {str(name) for e in inner if isinstance(e.get("for"), dict) for name in e["for"]}
    return own.union(*(loop_names(e.get("launches")) for e in inner))


def launches(d: Reader, arguments: Sequence[Argument]) -> tuple[Entry, ...]:
    """Read the key `launches`."""
    if d.raw.get("launches") == []:
        raise UsageError(f"{d.where}: launches: expected at least one step")
    return tuple(step for entry in d.each("launches") for step in _steps(entry, arguments))


def _steps(d: Reader, arguments: Sequence[Argument]) -> tuple[Entry, ...]:
    """Read an entry of `launches`: a step, or loops around steps."""
    d.only((*yaml_keys.LOOP, *yaml_keys.LAUNCH, *yaml_keys.MEMSET, *yaml_keys.COPY))
    if "for" not in d.raw:
        return (_step(d, arguments),)
    level = d.level("for", d.raw["for"])
    ends: list[tuple[str, Expression]] = []
    for name, end in level.raw.items():
        if not re.fullmatch(yaml_keys.NAME, str(name)) or name in level.counters:
            allowed = "up to 32 letters, digits and _, starting with a letter, and not used by an outer loop"
            raise UsageError(f"{level.where}: {shown(name)} is not a valid name; allowed: {allowed}")
        ends.append((name, level.as_expression(name, end)))
        level.counters = (*level.counters, name)
    d.counters = level.counters
    if "launches" in d.raw:
        d.only(yaml_keys.LOOP)
        steps = launches(d, arguments)
    else:
        d.raw = {key: value for key, value in d.raw.items() if key != "for"}
        steps = (_step(d, arguments),)
    for name, end in reversed(ends):
        steps = (Loop(name, end, steps),)
    return steps


def _step(d: Reader, arguments: Sequence[Argument]) -> Step | MemoryStep:
    if "memset" in d.raw or "copy" in d.raw:
        return _memory_step(d, arguments)
    d.only(yaml_keys.LAUNCH)
    passed = [a.name for a in arguments if not isinstance(a, ArrayArgument) or (a.passed and not a.constant)]
    names = [str(name) for name in d.sequence("arguments")] if d.raw.get("arguments") is not None else passed
    if unknown := [name for name in names if name not in passed]:
        raise UsageError(f"{d.where}: arguments: '{unknown[0]}' is not an argument; allowed: {', '.join(passed)}")
    if "grid" not in d.raw and not d.grid:
        raise UsageError(f"{d.where}: the key 'grid' is missing")
    grid = d.expressions("grid") if "grid" in d.raw else d.grid
    block = d.expressions("block") if "block" in d.raw else ()
    source = _launched_source(d) if "source" in d.raw else None
    return Step(d.function(""), tuple(names), grid, block, d.expression("shared", d.shared), source)


def _launched_source(d: Reader) -> Path:
    """The source of a launch, which has to be CUDA C++ with a kernel."""
    path = yaml_form.find(d, d.text("source"))
    if form_of(path, host=False) is not Form.KERNEL:
        raise UsageError(f"{d.where}: source: expected CUDA C++ (.cu), not '{path.name}'")
    return path


def _memory_step(d: Reader, arguments: Sequence[Argument]) -> MemoryStep:
    """Read `memset: ARRAY` with a `value` or a `byte`, or `copy: {from: ARRAY, to: ARRAY}`."""
    if "copy" in d.raw:
        d.only(yaml_keys.COPY)
        level = d.level("copy", d.raw["copy"]).exactly("from", "to")
        origin, array = (_plain_array(level, key, arguments) for key in ("from", "to"))
        if origin.name == array.name:
            raise UsageError(f"{level.where}: from and to are the same array, '{array.name}'")
        return MemoryStep(_written(level, "to", array), origin.name)
    d.only(yaml_keys.MEMSET)
    array = _plain_array(d, "memset", arguments)
    if "value" in d.raw and "byte" in d.raw:
        raise UsageError(f"{d.where}: a memset has a value or a byte, not both")
    key = "byte" if "byte" in d.raw else "value"
    value, is_float = d.raw.get(key, 0), any(dtype.is_float for dtype in d.arrays[array.name])
    number = value if isinstance(value, float) else d.as_expression(key, value, real=is_float and key == "value")
    return MemoryStep(_written(d, "memset", array), "", number, key == "byte")


def _plain_array(d: Reader, key: str, arguments: Sequence[Argument]) -> ArrayArgument:
    """The array that a memset or a copy names, which has to be memory that a pointer reaches."""
    name = _target(d, key, d.raw[key], "the name of an array")
    array = next(a for a in arguments if isinstance(a, ArrayArgument) and a.name == name)
    if array.image or array.constant or array.split:
        kind = "a texture or a surface" if array.image else "a __constant__ or __device__ array"
        kind = "an array of pointers" if array.split else kind
        raise UsageError(f"{d.where}: {key}: '{name}' is {kind}; expected an array with a plain pointer")
    return array


def _written(d: Reader, key: str, array: ArrayArgument) -> str:
    if array.role is Role.IN:
        raise UsageError(f"{d.where}: {key}: '{array.name}' has the role in, so nothing may write it; use another role")
    return array.name
