"""Reads a kernel's YAML: from plain dictionaries to a frozen `Kernel`, or a one-sentence UsageError."""

from __future__ import annotations

import dataclasses
import math
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from runner.bounds.array_expression import ArrayExpression
from runner.bounds.expected import Tolerance
from runner.bounds.formula import called, named, parse
from runner.device import Form, Role
from runner.errors import UsageError
from runner.files.limited_yaml import LOADER
from runner.kernel import metrics, signatures, yaml_form, yaml_keys, yaml_parameters
from runner.kernel.arrays import DTYPE_ALIASES, DTYPES, FILLS, part_types
from runner.kernel.declaration import (
    VOCABULARY,
    ArrayArgument,
    Constraint,
    DeclaredHazard,
    Kernel,
    Kind,
    Parameter,
    PointerArgument,
    ScalarArgument,
    Shuffle,
)
from runner.kernel.expression import Expression
from runner.kernel.lanes import INTRINSICS
from runner.kernel.recipes import KINDS, leaves
from runner.kernel.reference import missing_names
from runner.kernel.strides import with_strides
from runner.kernel.yaml_arguments import Argument, argument, array_shapes, array_types, launches, loop_names, structs
from runner.kernel.yaml_reader import QUOTE, Reader, is_torn, near, read_yaml, require_few_parameters, shown

KEYS = frozenset(yaml_keys.KEYS)
ACCESSES = "the cost of accesses is now counted from the kernel itself (lines.csv); remove the key"

THREADS = re.compile(r"block_?(size|dim)?(_?x)?|threads(_?per_?block)?|num_?threads", re.IGNORECASE)
"""What people call the threads of a block."""
MAX_LISTED = 8  # names in a message
MACRO = "expected a name of letters, digits and _, or {NAME: expression}"
BLANK = "???"  # what runner.importer leaves to be filled in
_TAKEN = "'{}' is also the name of another value or array; choose another name"


def read(name: str, content: Any, yaml: Path, folders: Sequence[Path] = ()) -> Kernel:
    """Read the kernel `name` from the parsed content of its YAML.

    Configuration folders have its family; by default the one that contains the file. Raises UsageError, which names the
    file, the key, the offending value and what is allowed.
    """
    if content is None or content == {}:
        raise UsageError(f"{yaml.name} is empty")
    own = Reader(content, yaml.name)
    if "accesses" in own.raw:  # a key of older versions
        raise UsageError(f"{own.where}: accesses: {ACCESSES}")
    _require_keys(own, yaml_keys.KEYS)
    if blank := _blank(content):
        raise UsageError(f"{yaml.name}: {blank}: {BLANK} is still to be filled in")
    common = _family(own, folders or [yaml.parent.parent])
    if common is None:
        return _kernel(name, own, yaml, common, own.raw)
    try:
        shared = _content(common)
        if isinstance(shared.get("source"), str):
            shared["source"] = str(common.parent / shared["source"])  # beside the family
        return _kernel(name, Reader(_merged(shared, own.raw), yaml.name), yaml, common, own.raw)
    except UsageError as e:
        raise UsageError(f"{e} ({yaml.name} is read with family/{common.name})") from None


def composed(content: Any, yaml: Path, folders: Sequence[Path], loader: Any = LOADER) -> dict[str, Any]:
    """Merge the keys of a kernel's YAML and of its family, as `read` takes them; `loader` reads the family's file."""
    own = Reader(content, yaml.name)
    common = _family(own, folders)
    return own.raw if common is None else _merged(_content(common, loader), own.raw)


def _kernel(name: str, d: Reader, yaml: Path, common: Path | None, own: Mapping[str, Any]) -> Kernel:
    """Read the merged keys of a kernel, of which `own` are those of its file."""
    result = () if "no_output" in d.raw else ("reference",)
    d.need("parameters", "arguments", *result)
    d.folder = yaml.parent
    source = _source(name, d)
    form = yaml_form.read(d, source, own)
    if "launches" not in d.raw and not form.calls_host:
        d.need("grid")
    require_few_parameters(d.raw, d.where)
    if d.text("name", name) != name:
        raise UsageError(f"{d.where}: name: expected '{name}', as the file is named, not '{d.text('name')}'")
    if not yaml_keys.KERNEL_NAME.fullmatch(name):
        raise UsageError(f"{d.where}: '{name}' is not a valid kernel name; allowed: {yaml_keys.KERNEL_NAMES}")
    parameters = yaml_parameters.read(d)
    d.known = yaml_parameters.names(parameters)
    d.choices = {p.name: p.allowed for p in parameters if p.kind is Kind.CHOICE and p.allowed}
    d.structs = structs(d)
    d.arrays = array_types(d, parameters)
    given = [a for a in d.sequence("arguments") if isinstance(a, dict)]
    d.scalars = {str(a["name"]) for a in given if {"name", "scalar"} <= a.keys()}
    d.shapes = array_shapes(d)
    d.let = _definitions(d)
    parameters = yaml_parameters.read_expressions(d, parameters)
    counters = loop_names(d.raw.get("launches"))
    if taken := sorted(counters & ({*d.known, *d.let, *d.arrays})):
        raise UsageError(f"{d.where}: launches: {_TAKEN.format(taken[0])}")
    arguments = tuple(argument(a, counters) for a in d.each("arguments"))
    d.grid = d.expressions("grid") if "grid" in d.raw else ()
    d.shared = d.raw.get("shared", 0)
    _require_distinct(d, arguments, [p.name for p in parameters])
    amount = d.below("bytes")
    amount.only(yaml_keys.BYTES)
    kernel = Kernel(
        name=name,
        yaml=yaml,
        source=source,
        include=tuple(_include(yaml, d)),
        function=d.function(name),
        summary=d.text("summary", ""),
        origin=d.text("origin", ""),
        family=_family_name(d, name),
        baseline=d.text("baseline", ""),
        ceiling=d.flag("ceiling", default=False),
        finish=d.choice("finish", ("host", "device"), "device"),
        min_arch=_min_arch(d),
        gpu_only=_reason(d, "gpu_only") or yaml_form.GPU_ONLY.get(form, ""),
        cooperative=d.flag("cooperative", default=False),
        parameters=parameters,
        macros=tuple(_macros(d)),
        arguments=arguments,
        grid=d.grid,
        shared=d.expression("shared", 0),
        constraints=tuple(_constraints(d)),
        bytes_read=amount.optional_expression("read"),
        bytes_written=amount.optional_expression("written"),
        operations=d.optional_expression("operations"),
        in_flight=d.optional_expression("in_flight"),
        reference=_reference(d, arguments),
        value=d.array_expression("value", d.text("value")) if d.raw.get("value") else None,
        depth=d.optional_expression("depth"),
        compute=_compute(d, parameters),
        fast_math=d.flag("fast_math", default=False),
        tolerance=_tolerance(d),
        shuffle=Shuffle(s.choice("operation", list(INTRINSICS)), s.expression("argument"))
        if (s := d.section("shuffle", *yaml_keys.SHUFFLE))
        else None,
        hazard=DeclaredHazard(h.expression("when", real=True), h.text("reason"))
        if (h := d.section("hazard", *yaml_keys.HAZARD))
        else None,
        common=common,
        structs=tuple(d.structs.values()),
        launches=launches(d, arguments),
        no_output=_reason(d, "no_output"),
        undefined_where=_undefined_where(d),
        metrics=_metrics(d),
        form=form,
        libraries=tuple(yaml_form.libraries(d, form)),
    )
    _require_sound(kernel)
    parameters = yaml_parameters.compute_defaults(d.where, yaml_parameters.with_integers(parameters, d.integers))
    implied = yaml_parameters.block_dimensions(d, parameters)  # depends on all expressions that were read
    return dataclasses.replace(kernel, parameters=parameters, constraints=(*implied, *kernel.constraints))


def _require_distinct(d: Reader, arguments: Sequence[Argument], parameters: Sequence[str]) -> None:
    """Raise UsageError for a name that is used twice; a scalar may have the name of the parameter that it passes."""
    names = [*parameters, *(a.name for a in arguments)]
    for a in arguments:
        values = a.values if isinstance(a, ScalarArgument) else ()
        texts = [v.text if isinstance(v, Expression) else "" for v in values]
        passes = texts == [a.name] and a.name in parameters
        if names.count(a.name) > 1 + passes:
            raise UsageError(
                f"{d.where}: arguments: '{a.name}' is already the name of another argument or of a parameter"
            )


def _blank(content: Any) -> str:
    """The path of the first blank (`BLANK`) in the content, or ""."""
    if isinstance(content, dict | list):
        entries = content.items() if isinstance(content, dict) else ((f"[{i}]", e) for i, e in enumerate(content))
        found = ((key, below) for key, entry in entries if (below := _blank(entry)))
        return next((f"{key}.{below}".removesuffix(".here").replace(".[", "[") for key, below in found), "")
    return "here" if content == BLANK else ""


def _family_name(d: Reader, kernel: str) -> str:
    name = d.text("family", kernel)
    if "/" in name or name in (".", ".."):
        raise UsageError(f"{d.where}: family: expected a name, such as transpose, not the path {shown(name)}")
    return name


def _require_keys(d: Reader, keys: yaml_keys.Level) -> None:
    """Raise UsageError for a key that the level lacks; a parameter in the place of a key is told where it belongs."""
    for key, value in d.raw.items():
        if key not in keys and re.fullmatch(r"grid_?[xyz]", str(key)):
            raise UsageError(f"{d.where}: {shown(key)} is not a valid key; write grid: [x, y, z]")
        if key in keys or (key not in VOCABULARY and near(str(key), keys)):
            continue
        if key in VOCABULARY or isinstance(value, int | float) or THREADS.fullmatch(str(key)):
            name = "block" if THREADS.fullmatch(str(key)) else key
            example = f"parameters: {{{name}: {shown(value)[1:-1]}}}"
            raise UsageError(
                f"{d.where}: {shown(key)} is not a valid key; a parameter goes under 'parameters': {example}"
            )
    d.only(keys)


def _family(own: Reader, folders: Sequence[Path]) -> Path | None:
    """The file with the keys that the kernels of a family share; `None` if the YAML names no family."""
    name = own.raw.get("family")
    if not isinstance(name, str) or not re.fullmatch(r"\w{1,200}", name):
        return None
    files = (f / "family" / f"{name}.yaml" for f in folders)
    found = list(dict.fromkeys(f for f in files if f.is_file()))
    if len(found) > 1:
        raise UsageError(f"family/{name}.yaml: there is a family {name} in {found[1]}, too; give yours another name")
    return found[0] if found else None


def _content(common: Path, loader: Any = LOADER) -> dict[str, Any]:
    d = Reader(read_yaml(common, loader), f"family/{common.name}")
    _require_keys(d, {key: schema for key, schema in yaml_keys.KEYS.items() if key not in yaml_keys.OWN})
    if next(yaml_form.further(d.raw.get("launches")), None):
        raise UsageError(f"{d.where}: launches: source: not allowed in a family; write 'launches' in the kernel's YAML")
    return d.raw


def _merged(common: Mapping[str, Any], own: Mapping[str, Any]) -> dict[str, Any]:
    """Override the family's keys by the kernel's own; parameters, constraints, metrics and `let` merge by entry."""

    def listed(entries: Any) -> list[Any]:
        if isinstance(entries, dict):
            return [{"require": condition, "reason": reason} for condition, reason in entries.items()]
        return entries if isinstance(entries, list) else [entries]

    merged = {**common, **own}
    for key in ("parameters", "let", "constraints", "metrics"):
        ours, theirs = own.get(key) or {}, common.get(key) or {}
        if isinstance(ours, dict) and isinstance(theirs, dict):
            both = {**theirs, **ours}
            # A parameter of the family that the kernel does not read is null.
            merged[key] = {n: v for n, v in both.items() if v is not None or n not in theirs}
        elif key == "constraints":
            merged[key] = [*listed(theirs), *listed(ours)]
    return merged


def _definitions(d: Reader) -> dict[str, str]:
    """The definitions under `let` by name: over the parameters, and for references also over the arrays."""
    level = Reader(d.raw.get("let") or {}, f"{d.where}: let")
    for name in level.raw:
        yaml_parameters.require_name(level.where, name)
        if name in d.known or name in d.arrays:
            raise UsageError(f"{level.where}: {_TAKEN.format(name)}")
    texts = {n: with_strides(str(text), d.shapes, f"{level.where}.{n}") for n, text in level.raw.items()}
    d.helpers = _array_definitions(texts, d.array_names, level.where)
    level.known, level.shapes = d.known, d.shapes
    level.let = {n: text for n, text in texts.items() if n not in d.helpers}
    for name in level.let:
        level.expression(name, real=True)
    return dict(level.let)


def _array_definitions(texts: Mapping[str, str], arrays: set[str], where: str) -> dict[str, str]:
    """The definitions of `let` that use arrays or functions of arrays, which only references may use."""
    trees = {name: parse(text, f"{where}.{name}") for name, text in texts.items()}
    functions = {k for k in ArrayExpression.TABLE if isinstance(k, str)} - set(Expression.TABLE)
    found = {name for name, tree in trees.items() if called(tree) & functions or named(tree) & arrays}
    while more := {name for name, tree in trees.items() if named(tree) & found} - found:
        found |= more
    return {name: text for name, text in texts.items() if name in found}


def _macros(d: Reader) -> Iterator[tuple[str, Expression]]:
    """Read the key `macros`: names of parameters, also upper-cased (SCALAR for `dtype`), or `NAME: expression`."""
    entries = d.raw.get("macros") or {}
    for entry in entries if isinstance(entries, list) else [entries]:
        if isinstance(entry, str):
            plain = {"SCALAR": "dtype"}.get(entry, entry.lower())
            content = {entry: entry if entry in d.known else plain}
        elif isinstance(entry, dict):
            content = entry
        else:
            raise UsageError(f"{d.where}: macros: {shown(entry)}: {MACRO}")
        for name, value in content.items():
            if not isinstance(name, str) or not re.fullmatch(r"[A-Za-z_]\w*", name, re.ASCII):
                raise UsageError(f"{d.where}: macros: {shown(name)}: {MACRO}")
            yield name, d.as_expression(f"macros.{name}", value, number=False)


def _constraints(d: Reader) -> Iterator[Constraint]:
    """Read the key `constraints`: `condition: reason`, or a list of `{require, reason}`."""
    given = d.raw.get("constraints")
    if isinstance(given, str) or (isinstance(given, list) and any(isinstance(entry, str) for entry in given)):
        expected = "expected {condition: reason}, such as {size % 4 == 0: the kernel reads whole vectors}"
        raise UsageError(f"{d.where}: constraints: {expected}, not {shown(given)}")
    if isinstance(given, dict):
        level = d.level("constraints", given)
        yield from (Constraint(d.as_expression("constraints", c, real=True), level.text(c)) for c in given)
        return
    for entry in d.each("constraints"):
        entry.exactly(*yaml_keys.CONSTRAINT)
        yield Constraint(entry.expression("require", real=True), entry.text("reason"))


def _reference(d: Reader, arguments: Sequence[Argument]) -> str | tuple[tuple[str, ArrayExpression], ...]:
    """Read the key `reference`: a dotted path, or an expression per output."""
    roles = {a.name: a.role for a in arguments if isinstance(a, ArrayArgument) and a.role is not Role.IN}
    outputs = [name for name, role in roles.items() if role in (Role.OUT, Role.INOUT)]
    if "no_output" in d.raw:
        if "reference" in d.raw or outputs:
            what = "reference" if "reference" in d.raw else f"the array '{outputs[0]}'"
            raise UsageError(f"{d.where}: no_output: there is an output: {what}")
        return ()
    value = d.raw["reference"]
    if isinstance(value, str):
        if not re.fullmatch(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)+", value):
            raise UsageError(
                f"{d.where}: reference: '{value}' is not a dotted path such as my_references.expected; write an "
                "expression as {OUTPUT: expression}"
            )
        return value
    given = d.level("reference", value)
    if not outputs:
        raise UsageError(
            f"{d.where}: arguments: no array has the role out or inout, so there is no result to compare; if the "
            "kernel has no output, write 'no_output: reason' instead of a reference"
        )
    if not all(d.arrays[name] for name in outputs):
        return ()  # an unknown dtype, which `_require_sound` reports
    written = [(name, d.arrays[name][0]) for name in outputs if roles[name] is Role.OUT]
    lacking = [n for name, dtype in written for n in missing_names(name, dtype, given.raw)]
    allowed = {n for name in outputs for dtype in d.arrays[name] for n in (name, *part_types(name, dtype))}
    if not given.raw or lacking or not set(given.raw) <= allowed:
        required = lacking or [n for name, dtype in written for n in missing_names(name, dtype, ())] or outputs
        found = ", ".join(map(str, given.raw)) or "none"
        hint = f"; {QUOTE}" if any(map(is_torn, given.raw)) else ""
        wanted = ", ".join(required[:MAX_LISTED]) + (", ..." if len(required) > MAX_LISTED else "")
        raise UsageError(f"{given.where}: expected expressions for {wanted}; found: {found}{hint}")
    expressions = d.array_expressions("reference")
    for _, expression in expressions:
        _require_read(expression, roles)
    return expressions


def _require_read(expression: ArrayExpression, roles: Mapping[str, Role]) -> None:
    """Raise UsageError if a reference names an array that is not an input; `roles` has those of the others."""
    for name in sorted({n.partition(".")[0] for n in expression.names} & roles.keys()):
        if roles[name] is not Role.INOUT:
            raise UsageError(
                f"{expression.shown} names '{name}', which has the role {roles[name]}; a reference reads arrays with "
                "the roles in and inout, as they were before the launch"
            )


def _undefined_where(d: Reader) -> tuple[tuple[str, ArrayExpression], ...]:
    """Read the key `undefined_where`: by output, a condition that selects the elements not to compare."""
    level = d.below("undefined_where")
    if level.raw and isinstance(d.raw.get("reference"), str):
        raise UsageError(f"{level.where}: a reference in Python returns ExpectedArray(..., defined=...) instead")
    for name in level.raw:
        if name not in d.raw["reference"]:
            allowed = ", ".join(d.raw["reference"])
            raise UsageError(f"{level.where}: '{name}' is not in the reference; allowed: {allowed}")
    return d.array_expressions("undefined_where")


def _source(name: str, d: Reader) -> Path:
    """The source that the YAML names, or NAME.cu beside the YAML or in ../../kernels."""
    names = [d.text("source")] if "source" in d.raw else [f"{name}.cu", f"../../kernels/{name}.cu"]
    return yaml_form.find(d, *names)


def _include(yaml: Path, d: Reader) -> Iterator[Path]:
    given = d.raw.get("include") or []
    for text in given if isinstance(given, list) else [given]:
        path = _folder(yaml.parent / text) if isinstance(text, str) else None
        if path is None:
            raise UsageError(
                f"{d.where}: include: there is no folder {str(text)!r} (looked for relative to the YAML's folder)"
            )
        yield path


def _folder(path: Path) -> Path | None:
    """The folder itself, without links; `None` if there is none, or if it cannot have such a name."""
    try:
        found = Path(os.path.realpath(path))  # takes links that lead in a circle
        return found if found.is_dir() else None
    except (OSError, ValueError):  # a name that is too long, a null byte
        return None


def _compute(d: Reader, parameters: Sequence[Parameter]) -> str:
    word = d.text("compute", "")
    floats = [name for name, dtype in DTYPES.items() if dtype.is_float and dtype.numbers == 1 and dtype.itemsize > 1]
    allowed = [*floats, *(p.name for p in parameters if p.kind is Kind.DTYPE)]
    if word and word not in allowed:
        raise UsageError(f"{d.where}: compute: '{word}' is not a float dtype; allowed: {', '.join(allowed)}")
    return word


def _tolerance(d: Reader) -> Tolerance | None:
    if "tolerance" not in d.raw:
        return None
    level = d.level("tolerance", d.raw["tolerance"])
    level.only(yaml_keys.TOLERANCE)
    if not level.raw:
        raise UsageError(f"{level.where}: expected one or more of rtol, atol and ulp")
    numbers: dict[str, float] = {}
    for name, value in level.raw.items():
        try:
            numbers[name] = math.nan if isinstance(value, bool) else float(value)  # YAML parses 1e-5 as text
        except (TypeError, ValueError):
            numbers[name] = math.nan
        if not 0 <= numbers[name] < math.inf:
            raise UsageError(f"{level.where}: {name}: expected a number of 0 or more, such as 1e-5, not {shown(value)}")
    return Tolerance(**numbers)


def _metrics(d: Reader) -> tuple[metrics.Metric, ...]:
    given = d.below("metrics").raw
    declared = {**(metrics.GFLOPS if d.raw.get("operations") is not None else {}), **given}
    if taken := sorted(VOCABULARY.keys() & given.keys()):
        raise UsageError(f"{d.where}: metrics: '{taken[0]}' is a parameter; a metric needs another name")
    return metrics.read(declared, f"{d.where}: metrics", d.known, let=d.let)


def _min_arch(d: Reader) -> int:
    value = d.raw.get("min_arch", 0)
    matched = re.fullmatch(r"(?:sm_)?(\d{2,3})", str(value)) if value else None
    if value and not matched:
        raise UsageError(f"{d.where}: min_arch: expected an architecture such as sm_90, not '{value}'")
    return int(matched[1]) if matched else 0


def _reason(d: Reader, key: str) -> str:
    value = d.raw.get(key, "")
    if key in d.raw and (value is None or not str(value).strip()):
        raise UsageError(f"{d.where}: {key}: expected a reason, not {shown(value)}")
    return d.text(key, "")  # `true` is no reason


def _require_sound(kernel: Kernel) -> None:
    """Check that the parts fit together, so that a wrong name is reported before a case needs it."""
    file = kernel.yaml.name
    words = [p.name for p in kernel.parameters if p.kind is Kind.DTYPE]
    for a in kernel.arguments:
        if isinstance(a, PointerArgument):
            continue
        if kernel.dtype(a.dtype) is None and a.dtype not in words:
            allowed = ", ".join((*DTYPES, *(s.name for s in kernel.structs), *words))
            in_c = {d.c_name: d.name for d in DTYPES.values() if d.c_name not in DTYPES} | DTYPE_ALIASES
            plain = re.sub(r"\bconst\b|[*&]", "", a.dtype).strip()  # of the function's own parameter
            meant = in_c.get(plain, plain if plain in DTYPES else "")
            hint = f"; did you mean {meant}?" if meant else ""
            raise UsageError(f"{file}: argument '{a.name}': '{a.dtype}' is not a dtype{hint}; allowed: {allowed}")
    fills = {*FILLS, *(p.name for p in kernel.parameters if p.kind is Kind.CHOICE)}
    for name, fill in ((a.name, fill) for a in kernel.arrays for fill in leaves(a.fill)):
        if isinstance(fill, str) and fill not in fills:
            allowed = f"{', '.join((*FILLS, *KINDS))}, an expression, numbers, or a .npy file"
            raise UsageError(f"{file}: argument '{name}': fill: '{fill}' is not a fill; allowed: {allowed}")
    if kernel.shuffle:
        _require_shuffle(kernel, f"{file}: shuffle")
    if len(kernel.sources) > 1 and kernel.form is not Form.KERNEL:
        what = f"{kernel.form.label} ({kernel.source.name})"
        raise UsageError(f"{file}: launches: source: {what} has no further sources; remove the key")
    signatures.require_counts(kernel)


def _require_shuffle(kernel: Kernel, where: str) -> None:
    """Check for the arrays that show the actual exchange, and for the parameters that determine the expected one."""
    if missing := [n for n in ("block", "width", "mask") if kernel.parameter(n) is None]:
        raise UsageError(f"{where}: it needs the parameter '{missing[0]}', which the kernel does not have")
    arrays = {a.name: a for a in kernel.arrays if not a.constant}
    for name in (Role.IN, Role.OUT):
        if name not in arrays or arrays[name].role is not name:
            raise UsageError(f"{where}: the kernel has no array '{name}' of the role '{name}'")
    if len({(a.dtype, tuple(e.text for e in a.shape)) for a in (arrays["in"], arrays["out"])}) > 1:
        raise UsageError(f"{where}: 'in' and 'out' must have the same dtype and the same shape")
