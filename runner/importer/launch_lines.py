"""The lines of a YAML that say how a kernel is launched: block, grid, function, macros, shared memory."""

from __future__ import annotations

import itertools
import json
import math
import re
from collections.abc import Iterable, Iterator

from runner.importer import terms
from runner.importer.description import C_TYPES, ELEMENT_TYPES, Description
from runner.importer.launched import Launched
from runner.importer.term_text import said, yaml_text
from runner.importer.terms import Term
from runner.importer.tuning import AXES
from runner.kernel.arrays import DTYPES
from runner.kernel.declaration import VOCABULARY
from runner.kernel.from_yaml import BLANK

_BLOCK = re.compile(r"(?i)(k\d*_)?block_?(size|dim)?(_x)?|(num_|n_)?threads(_per_block)?")
_BLOCK_LIKE = re.compile(r"(?i)block|thread|tpb|tile")
_GUESS = "  # the number of blocks that are launched?"
MAX_BLOCK = 1024  # threads


def plain_or_quoted(text: str) -> str:
    """An expression or a path within a list or a mapping of YAML."""
    if '"' in text or "\\" in text:
        return json.dumps(text)
    return f'"{text}"' if re.search(r"[,{}\[\]:#]", text) or text[0] in "!&*|>@`\"'%?-" else text


def yaml_list(expressions: Iterable[str]) -> str:
    """A list of expressions."""
    return "[" + ", ".join(f'"{e}"' for e in expressions) + "]"


def launch(d: Description) -> tuple[str, str]:
    """The values of `block` and `grid`, with their comments."""
    if d.host is None:
        return _guessed_block(d), _guessed_grid(d)
    where, length = d.host.launch.where, "x".join(map(str, d.host.sizes))
    block = f"{length}  # in {where}" if d.host.is_known else f"{length}  # open in {where}; any value?"
    if d.host.is_fixed:
        block = f"{{default: {length}, allowed: [{length}]}}  # in {where}; the kernel is compiled for it"
    parts = [said(part) for part in d.grid]
    if not parts or not all(parts):
        lengths = {text for size in d.sizes.values() if (text := said(size))}
        if len(lengths) == 1 and d.facts.dimensions == 1:
            return block, f'"ceil_div({lengths.pop()}, block)"{_GUESS}'
        _guessed_block(d)
        return block, _guessed_grid(d)
    parts += ["1"] * (d.facts.grid - len(parts))
    grid = plain_or_quoted(parts[0]) if len(parts) == 1 else yaml_list(parts)
    # A block has several elements for each thread there: with another block, the number would be wrong.
    multiples = [
        n for n in re.findall(r"(?<![\w.])\d+", grid) if int(n) > (own := d.host.sizes[0]) and int(n) % own == 0
    ]
    follows = f"; does {multiples[0]} follow from the block?" if multiples and not d.host.is_fixed else ""
    return block, f"{grid}  # in {where}{follows}"


def _guessed_dimensions(d: Description) -> int:
    return max(d.facts.dimensions, len(d.tuning.block), len(d.tuning.size))


def _guessed_block(d: Description) -> str:
    """A block for the number of axes that the kernel reads. Adds the parameter `size`."""
    tuning, dimensions = d.tuning, _guessed_dimensions(d)
    if tuning.size:
        d.parameters.add("size", "x".join(map(str, reversed(tuning.size[:2]))))
    else:
        d.parameters.add("size", "1024x1024" if dimensions > 1 else "1Mi", note="of the problem")
    if not tuning.block:
        return ("256", "16x16", "8x8x4")[min(dimensions, 3) - 1]
    axes = [list(tuning.values[name]) for name in tuning.block[:2]]
    first = [tuning.defaults.get(name, values[0]) for name, values in zip(tuning.block, axes, strict=False)]
    blocks = ["x".join(map(str, lengths)) for lengths in itertools.product(*axes)]
    allowed = [b for b in blocks if math.prod(map(int, b.split("x"))) <= MAX_BLOCK]
    return f"{{default: {'x'.join(map(str, first))}, allowed: [{', '.join(allowed)}]}}"


def _guessed_grid(d: Description) -> str:
    tuning, dimensions, parts = d.tuning, _guessed_dimensions(d), []
    for axis, length in enumerate(("cols", "rows") if dimensions > 1 else ("size",)):
        own = f"block_{AXES[axis]}" if dimensions > 1 else "block"
        divisors = [d.expression(each) for part in tuning.divisors[axis : axis + 1] for each in part]
        parts.append(f"ceil_div({length}, {' * '.join(divisors or [own])})")
    if not tuning.divisors:
        parts += [BLANK] * (d.facts.grid - len(parts))
    return (parts[0] if len(parts) == 1 else yaml_list(parts)) + _GUESS


def function(d: Description) -> str:
    """The value of `function`. Adds a parameter for each template argument."""
    given = d.host.launch.template if d.host else ()
    arguments = []
    for index, text in enumerate(d.facts.kernel.template):
        passed = given[index] if index < len(given) else None
        is_type = re.match(r"(typename|class)\b", text)
        arguments.append(_template_type(d, passed) if is_type else _template_value(d, text, passed))
    name = d.facts.kernel.name
    return f"{name}<{', '.join(arguments)}>" if arguments else name


def _template_type(d: Description, passed: str | Term | None) -> str:
    kind = passed[1] if isinstance(passed, tuple) and passed[0] == "name" else passed
    kind = kind if isinstance(kind, str) else ""
    dtype = C_TYPES.get(d.facts.types.get(kind, kind), "")
    held = d.parameters.by_name.get("dtype")
    if dtype and held is not None and held.default != dtype:
        return kind
    return d.parameters.add("dtype", dtype or "float32")


def _template_value(d: Description, text: str, passed: str | Term | None) -> str:
    declared, _, default = (part.strip() for part in text.partition("="))
    name, note = (re.findall(r"\w+", declared) or ["value"])[-1], f"template argument {text}"
    term = _passed_value(d, passed)
    if d.host is not None and term is not None:
        note += f", in {d.host.launch.where}"
    known = None if term is None else terms.value(term)
    if _is_block(d, name, d.host, term):
        term = terms.name("block")
    elif term is None or known is not None:
        shown = ("false", "true")[bool(known)] if declared.startswith("bool") else known
        term = terms.name(d.parameters.add(name, (default or BLANK) if term is None else shown, note=note))
    d.template[name] = term
    return yaml_text(term).replace("//", "/")  # C++


def _passed_value(d: Description, passed: str | Term | None) -> Term | None:
    if d.host is None or not isinstance(passed, tuple):
        return None
    return d.host.term(d.resolver.resolve(passed, d.host.launch.scope))


def _is_block(d: Description, name: str, host: Launched | None, term: Term | None) -> bool:
    """Whether a template argument is the block's length: by its value, else by its name."""
    if term is None or host is None:
        return _BLOCK.fullmatch(name) is not None and d.facts.dimensions == 1
    return (terms.value(term),) == host.sizes and _BLOCK_LIKE.search(name) is not None


def macros(d: Description) -> Iterator[str]:
    """The entries of `macros`. Adds a parameter for each."""
    tuning = d.tuning
    for name, values in tuning.values.items():
        if name in tuning.block:
            yield f"{{{name}: {d.expression(name)}}}"
        else:
            yield _macro(name, d.parameters.add(_wanted(name), tuning.defaults.get(name, values[0]), values))
    for name in d.facts.macros:
        if name in tuning.values:
            continue
        if name in ELEMENT_TYPES:
            d.parameters.add("dtype", "float32")
            yield "SCALAR" if name == "SCALAR" else f"{{{name}: dtype}}"
        elif _BLOCK.fullmatch(name):
            yield f"{{{name}: block}}" if d.facts.dimensions == 1 else f"{{{name}: block_x}}"
        else:
            yield _macro(name, d.parameters.add(_wanted(name), BLANK, note=f"nothing in the file declares {name}"))


def _wanted(macro: str) -> str:
    """The parameter for a macro: one that all kernels share, such as `width` for WIDTH, or one of the macro's name."""
    return macro.lower() if macro.lower() in VOCABULARY else macro


def _macro(name: str, parameter: str) -> str:
    """The entry for a macro and its parameter; a macro finds a parameter of its name in small letters by itself."""
    return name if parameter in (name, name.lower()) else f"{{{name}: {parameter}}}"


def shared(d: Description) -> Iterator[str]:
    """The line `shared`."""
    if not d.facts.shared:
        return
    if d.host is not None:
        term = d.host.term(terms.replaced(d.host.launch.shared, lambda t: _size(d, t[1]) if t[0] == "sizeof" else None))
        if text := said(term):
            yield f"shared: {plain_or_quoted(text)}  # bytes, in {d.host.launch.where}"
            return
    first = d.facts.shared[0]
    size = _size(d, first.type)
    text = "1" if first.type.endswith("char") else str(size[1]) if size else "itemsize(dtype)"
    yield f"shared: {text} * block  # bytes of {first.type} {first.name}[]; the right number?"


def _size(d: Description, kind: str) -> Term | None:
    dtype = C_TYPES.get(d.facts.types.get(kind, kind))
    return terms.number(DTYPES[dtype].itemsize) if dtype else None
