"""Find a kernel's reference: in a function of the host that computes the same, else in the kernel itself."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from runner.device.syntax import text_of
from runner.importer import terms
from runner.importer.array_text import Geometry, Reference, Writer
from runner.importer.forms import Pointer, Reader, State, Unclear, Value
from runner.importer.host import Function, Program, Scope, plain_pointer
from runner.importer.terms import Term

_DEVICE = re.compile(r"__global__|__device__")


@dataclass(frozen=True)
class Task:
    """A kernel, as its YAML names its arguments."""

    function: Function
    arrays: Mapping[str, str]  # the YAML's name by the kernel's
    hosts: Mapping[str, str]  # the YAML's name by the host's array that is copied to it
    outputs: frozenset[str]  # arrays that the kernel may write, by the YAML's names
    values: Mapping[str, Term]  # of scalars and of template arguments, in terms of the YAML
    reals: Mapping[str, bool]  # whether an array's elements are real, by the YAML's names
    geometry: Geometry
    block_value: int | None
    types: frozenset[str]  # names of real types, such as `T`


@dataclass(frozen=True)
class Answer:
    """A reference and where it comes from, or why there is none."""

    reference: Reference | None
    note: str
    is_own: bool = False  # whether the kernel itself was read
    fast: bool = False


def find(task: Task, program: Program, to_yaml: Mapping[str, Term]) -> Answer:  # noqa: C901  (one case for each form)
    """The reference of a kernel; `to_yaml` has the program's constants by name."""
    known = dict(to_yaml)
    for name, (parameters, body, _) in program.macros.items():
        if parameters is None and name not in known:
            value = terms.value(terms.numbers(program.resolve(body, Scope())))
            if value is not None:
                known[name] = terms.number(value)
    for name, (body, _) in program.globals.items():
        value = terms.value(terms.numbers(program.resolve(body, Scope())))
        if name not in known and value is not None:
            known[name] = terms.number(value)
    for function in _candidates(task, program):
        try:
            reader, state = _host_reader(task, program, function, known)
            reader.follow(function.node.child_by_field_name("body"), state)
            reference = Writer(reader, task.geometry).write()
        except (Unclear, RecursionError):
            continue
        if set(reference.expressions) == task.outputs:
            line = function.node.start_point[0] + 1
            return Answer(reference, f"as {function.name} computes them, {function.path.name}:{line}")
    own = _own(task, program, known)
    if own.reference is not None:
        return own
    for function in _siblings(task, program):  # a plainer kernel of the same arguments
        sibling = _own(replace(task, function=function, geometry=replace(task.geometry, grid=())), program, known)
        if sibling.reference is not None and set(sibling.reference.expressions) == task.outputs:
            where = f"{function.path.name}:{function.node.start_point[0] + 1}"
            note = f"as the kernel {function.name} computes them, {where}: is it the same?"
            return replace(sibling, note=note, is_own=False)
    return own


def _siblings(task: Task, program: Program) -> Iterator[Function]:
    """Other kernels of a numbered series, such as `softmax_kernel1` for `softmax_kernel4`, with the same arguments."""
    own = [name for name, _ in task.function.parameters]
    for functions in program.functions.values():
        for function in functions:
            same = [name for name, _ in function.parameters] == own and function.node.id != task.function.node.id
            same = same and function.name.rstrip("0123456789") == task.function.name.rstrip("0123456789")
            if same and "__global__" in text_of(function.node)[:200]:
                yield function


def _own(task: Task, program: Program, known: Mapping[str, Term]) -> Answer:
    """The reference that a kernel itself shows."""
    reader = Reader(program, task.reals, known)
    reader.block = task.geometry.block[0] if task.geometry.block else terms.name("block")
    reader.block_value, reader.types = task.block_value, task.types
    names: dict[str, Value] = {name: Pointer(array) for name, array in task.arrays.items()}
    state = State({**names, **task.values}, {name: _is_real(v) for name, v in task.values.items()})
    try:
        reader.follow(task.function.node.child_by_field_name("body"), state)
        reference = Writer(reader, task.geometry).write()
    except RecursionError:
        return Answer(None, "it is nested too deeply")
    except Unclear as e:
        return Answer(None, str(e))
    line = task.function.node.start_point[0] + 1
    note = f"as the kernel itself computes them, {task.function.path.name}:{line}: is this what it should compute?"
    return Answer(reference, note, is_own=True, fast=reader.found.fast)


def _is_real(term: Term) -> bool:
    return terms.value(term) is not None and isinstance(terms.value(term), float)


def _candidates(task: Task, program: Program) -> Iterator[Function]:
    """Functions of the host that may compute what the kernel does: those that take all its outputs."""
    for functions in program.functions.values():
        for function in functions:
            body = function.node.child_by_field_name("body")
            head = text_of(function.node)[: (body.start_byte if body else 0) - function.node.start_byte]
            if _DEVICE.search(head) or function.name == "main" or "<<<" in text_of(function.node):
                continue
            bound = set(_bound_arrays(task, program, function).values())
            inputs = set(task.arrays.values()) - task.outputs
            if task.outputs and task.outputs <= bound and (inputs & bound or not inputs):
                yield function


def _bound_arrays(task: Task, program: Program, function: Function) -> dict[str, str]:
    """The kernel's arrays by a host function's parameters: of the same name, or passed the array that is copied."""
    names = {name: task.arrays[name] for name, _ in function.parameters if name in task.arrays}
    pointers = [n for n, _ in function.parameters if _is_pointer(function, n)]
    if set(pointers) <= set(names):
        return names
    for _, call in program.callers.get(function.name, ()):
        given = call.child_by_field_name("arguments")
        passed = [terms.read(c) for c in given.named_children if c.type != "comment"] if given else []
        for (name, _), given_term in zip(function.parameters, passed, strict=False):
            each = plain_pointer(given_term)
            if each[0] == "name" and each[1] in task.hosts:
                names.setdefault(name, task.hosts[each[1]])
        break
    left = [p for p in pointers if p not in names]
    missing = sorted(task.outputs - set(names.values()))
    if len(left) == 1 and len(missing) == 1 and names:  # the host's own result has no array on the device
        names[left[0]] = missing[0]
    return names if all(p in names for p in pointers) else {}


def _is_pointer(function: Function, name: str) -> bool:
    declarator = function.node.child_by_field_name("declarator")
    return bool(
        re.search(
            rf"(\*|&|vector\s*<[^>]*>\s*&?)\s*(?:__restrict__\s*|const\s+)?{re.escape(name)}\b|\b{re.escape(name)}\s*\[",
            text_of(declarator),
        )
    )


def _host_reader(task: Task, program: Program, function: Function, known: Mapping[str, Term]) -> tuple[Reader, State]:
    arrays = _bound_arrays(task, program, function)
    reader = Reader(program, task.reals, known)
    reader.types = task.types
    names: dict[str, Value] = {name: Pointer(array) for name, array in arrays.items()}
    passed = _passed(program, function)
    for index, (name, _) in enumerate(function.parameters):
        if name in names:
            continue
        value = passed[index] if index < len(passed) else terms.UNKNOWN
        resolved = task.values.get(name) or _named(value, known)
        if resolved is not None:
            names[name] = resolved
    return reader, State(
        names, {n: isinstance(terms.value(v), float) for n, v in names.items() if not isinstance(v, Pointer)}
    )


def _named(term: Term, known: Mapping[str, Term]) -> Term | None:
    """A resolved term with the YAML's names; `None` if it has constants that the YAML lacks."""
    if term == terms.UNKNOWN:
        return None
    result = terms.replaced(
        term,
        lambda t: known.get(t[1], terms.number(t[2]) if t[2] is not None else None) if t[0] == "constant" else None,
    )
    lacking = any(
        t[0] not in ("number", "name", "+", "-", "*", "/", "//", "%", "cast", "call", "negative")
        for t in terms.leaves(result)
    )
    return None if lacking else result


def _passed(program: Program, function: Function) -> Sequence[Term]:
    """What the first caller passes, resolved."""
    for caller, call in program.callers.get(function.name, ()):
        given = call.child_by_field_name("arguments")
        listed = [c for c in given.named_children if c.type != "comment"] if given else []
        scope = program.scope(caller, call.start_byte)
        return [program.resolve(terms.read(c), scope) for c in listed]
    return ()
