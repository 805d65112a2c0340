"""Understanding a kernel's YAML: from plain dictionaries to a frozen `Kernel`, or one sentence about what is wrong."""

from __future__ import annotations

import dataclasses
import keyword
import re
from pathlib import Path
from typing import Any

from runner.columns import RESERVED
from runner.device import Role
from runner.errors import UsageError
from runner.kernel.array_expression import ArrayExpression
from runner.kernel.declaration import ArrayArgument, Kernel, Parameter, ScalarArgument
from runner.kernel.expression import FUNCTIONS
from runner.kernel.names import require_sound
from runner.kernel.parameters import VOCABULARY, Kind, canonical
from runner.kernel.parts import access, argument, constraint, hazard, shuffle
from runner.kernel.yaml_reader import Reader, shown

KEYS = frozenset(
    "name source summary origin family baseline finish min_arch gpu_only parameters macros arguments grid shared "
    "constraints bytes operations in_flight reference value depth shuffle accesses hazard".split()
)
_REQUIRED = ("parameters", "arguments", "grid", "reference")
_FINISHES = ("host", "device")

# Which on-chip memory a kernel would rather have more of is asked of any kernel (cudaFuncSetCacheConfig).
CACHES = ("none", "shared", "l1", "equal")
_ANY_KERNELS_CACHE = Parameter("cache", Kind.CHOICE, "none", CACHES, "none")


def read(name: str, content: Any, yaml: Path) -> Kernel:
    """Understand one kernel's YAML.

    Args:
        name: The kernel's name: the YAML's stem.
        content: What the YAML holds, as plain dictionaries and lists.
        yaml: Where it lies; `source` is relative to its folder.

    Raises:
        UsageError: naming the file, the key, the offending value and what is allowed.
    """
    d = Reader(content, f"{yaml.name}")
    d.only(KEYS)
    d.need(*_REQUIRED)
    if d.text("name", name) != name:
        raise UsageError(f"{yaml.name}: name: '{d.text('name')}' must be the file's own name, '{name}'")
    if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]{0,63}", name):
        raise UsageError(f"{yaml.name}: '{name}' is no name of a CUDA function")
    parameters = tuple(parameter(f"{yaml.name}: parameters", n, v) for n, v in d.items("parameters"))
    if all(p.name != "cache" for p in parameters):
        parameters += (_ANY_KERNELS_CACHE,)
    arguments = tuple(argument(d.at(f"arguments[{i}]", a)) for i, a in enumerate(d.sequence("arguments")))
    amount = d.at("bytes", d.raw.get("bytes") or {})
    amount.only(frozenset(("read", "written")))
    if d.text("finish", "device") not in _FINISHES:
        raise UsageError(f"{yaml.name}: finish: '{d.text('finish')}' is none of {', '.join(_FINISHES)}")
    names = [a.name for a in arguments]
    if repeated := [n for n in names if names.count(n) > 1 or n in {p.name for p in parameters}]:
        raise UsageError(f"{yaml.name}: arguments: the name '{repeated[0]}' is given twice, or is a parameter's")
    kernel = Kernel(
        name=name,
        yaml=yaml,
        source=_source(yaml, d.text("source", f"{name}.cu")),
        summary=d.text("summary", ""),
        origin=d.text("origin", ""),
        family=d.text("family", name),
        baseline=d.text("baseline", ""),
        finish=d.text("finish", "device"),
        min_arch=_min_arch(d),
        gpu_only=_gpu_only(d),
        parameters=parameters,
        macros=tuple(
            (_macro(yaml.name, n), d.expression(f"macros.{n}", v, number=False)) for n, v in d.items("macros")
        ),
        arguments=arguments,
        grid=d.expressions("grid", 1, 3),
        shared=d.expression("shared", d.raw.get("shared", 0)),
        constraints=tuple(constraint(d.at(f"constraints[{i}]", c)) for i, c in enumerate(d.sequence("constraints"))),
        bytes_read=amount.optional_expression("read"),
        bytes_written=amount.optional_expression("written"),
        operations=d.optional_expression("operations"),
        in_flight=d.optional_expression("in_flight"),
        reference=_reference(d, arguments),
        value=ArrayExpression(d.text("value"), f"{yaml.name}: value") if d.raw.get("value") is not None else None,
        depth=d.optional_expression("depth"),
        shuffle=shuffle(d),
        accesses=tuple(access(d.at(f"accesses[{i}]", a)) for i, a in enumerate(d.sequence("accesses"))),
        hazard=hazard(d),
    )
    require_sound(kernel)
    return kernel


def parameter(where: str, name: Any, content: Any) -> Parameter:
    """Understand one entry of `parameters:`; a plain value is its default.

    Raises:
        UsageError: if the name is taken or a value cannot be read.
    """
    if not isinstance(name, str) or not re.fullmatch(r"[a-z][a-z0-9_]{0,31}", name):
        raise UsageError(f"{where}: '{name}' is no name for a parameter; allowed are a-z, 0-9 and _, a letter first")
    if keyword.iskeyword(name) or name in FUNCTIONS:
        raise UsageError(f"{where}: '{name}' means something else in expressions; give the parameter another name")
    if name in RESERVED:
        raise UsageError(f"{where}: '{name}' is reserved: a column of the table or a key of the configuration")
    d = Reader(content if isinstance(content, dict) else {"default": content}, f"{where}.{name}")
    d.only(frozenset(("default", "allowed", "neutral", "kind")))
    d.need("default")
    kind = VOCABULARY.get(name) or _kind(d)
    allowed = tuple(canonical(f"{where}.{name}.allowed", kind, v) for v in d.sequence("allowed"))
    neutral = d.raw.get("neutral")
    result = Parameter(
        name=name,
        kind=kind,
        default=canonical(f"{where}.{name}.default", kind, d.raw["default"]),
        allowed=allowed,
        neutral=None if neutral is None else canonical(f"{where}.{name}.neutral", kind, neutral),
    )
    if name == "cache":
        result = dataclasses.replace(result, allowed=allowed or CACHES, neutral=result.neutral or "none")
        if unknown := [c for c in (result.default, *result.allowed) if c not in CACHES]:
            raise UsageError(f"{where}.cache: '{unknown[0]}' is none of {', '.join(CACHES)}")
    if allowed and result.default not in allowed:
        raise UsageError(f"{where}.{name}: the default {result.default} is none of the allowed values")
    return result


def _source(yaml: Path, text: str) -> Path:
    where = f"{yaml.name}: source"
    try:
        source = (yaml.parent / text).resolve()
        there = source.is_file()
        if there:
            source.read_text(encoding="utf-8")
    except UnicodeDecodeError as e:
        raise UsageError(f"{where}: '{text}' is no UTF-8 text: {e.reason}") from None
    except (OSError, RuntimeError, ValueError) as e:  # no permission, a link to itself, a name too long or with a NUL
        raise UsageError(f"{where}: '{text}' cannot be read: {getattr(e, 'strerror', None) or e}") from None
    if not there:
        raise UsageError(f"{where}: there is no file '{text}' (looked for relative to the YAML's folder)")
    return source


def _kind(d: Reader) -> Kind:
    text = d.text("kind", Kind.INTEGER)
    if text not in list(Kind):
        raise UsageError(f"{d.where}: kind: '{text}' is none of {', '.join(Kind)}")
    return Kind(text)


def _min_arch(d: Reader) -> int:
    value = d.raw.get("min_arch", 0)
    matched = re.fullmatch(r"(?:sm_)?(\d{2,3})", str(value)) if value else None
    if value and not matched:
        raise UsageError(f"{d.where}: min_arch: an architecture such as sm_90 is expected, not '{value}'")
    return int(matched[1]) if matched else 0


def _gpu_only(d: Reader) -> str:
    value = d.raw.get("gpu_only", "")
    if "gpu_only" in d.raw and (value is None or not str(value).strip()):
        raise UsageError(f"{d.where}: gpu_only: a reason is expected, not {shown(value)}")
    return d.text("gpu_only", "")  # true would be no reason


def _macro(where: str, name: Any) -> str:
    # Short macro names collide with those of CUDA's headers and of the CPU device's shim.
    if not isinstance(name, str) or not re.fullmatch(r"[A-Z][A-Z0-9_]{3,}", name):
        raise UsageError(f"{where}: macros: '{name}': four or more of A-Z, 0-9 and _ are expected, a letter first")
    return name


def _reference(
    d: Reader, arguments: tuple[ArrayArgument | ScalarArgument, ...]
) -> str | tuple[tuple[str, ArrayExpression], ...]:
    value = d.raw["reference"]
    if isinstance(value, str):
        if not re.fullmatch(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)+", value):
            raise UsageError(f"{d.where}: reference: '{value}' is no dotted path such as my_references.expected")
        return value
    arrays = [a for a in arguments if isinstance(a, ArrayArgument)]
    needed = [a.name for a in arrays if a.role is Role.OUT]
    possible = [a.name for a in arrays if a.role in (Role.OUT, Role.INOUT)]
    given = d.at("reference", value)
    if not possible:
        raise UsageError(f"{d.where}: arguments: no array has the role out or inout: there is no result to compare")
    if not given.raw or not set(needed) <= set(given.raw) <= set(possible):
        raise UsageError(
            f"{given.where}: an expression for each of {', '.join(needed or possible)} is expected, not for "
            f"{', '.join(map(str, given.raw)) or 'none'}"
        )
    return tuple((str(n), ArrayExpression(str(e), f"{given.where}.{n}")) for n, e in given.raw.items())
