"""Find a kernel's reference: in a function of the host that computes the same, else in the kernel itself."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from runner.device.syntax import text_of
from runner.importer import terms
from runner.importer.axes import Geometry, equal
from runner.importer.follow import follow
from runner.importer.memory import plain_pointer
from runner.importer.program import Function
from runner.importer.resolve import Resolver
from runner.importer.store_text import Reference, write_reference
from runner.importer.symbols import Pointer, Setting, State, Unclear, Value
from runner.importer.terms import UNKNOWN, Term

_NAMED = frozenset("number name + - * / // % cast negative".split())


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
    constants: Mapping[str, Term]  # the YAML's names of the program's constants


@dataclass(frozen=True)
class Answer:
    """A reference and where it comes from, or why there is none."""

    reference: Reference | None
    note: str
    is_own: bool = False  # whether the kernel itself was read


def find(task: Task, resolver: Resolver) -> Answer:
    """The reference of a kernel.

    One that is read from the kernel itself repeats the kernel's mistakes, so its note asks whether it is right.
    """
    known = {**_constants(resolver), **task.constants}
    own = _own(task, resolver, known)
    for function in _candidates(task, resolver):
        try:
            reference = _of_host(task, resolver, function, known)
        except (Unclear, RecursionError):
            continue
        if set(reference.expressions) == task.outputs and not _is_part(reference, own.reference):
            return Answer(reference, f"as {function.name} computes them, {function.where}")
    return own


def _is_part(reference: Reference, own: Reference | None) -> bool:
    """Whether a function is called for a part of the arrays: it writes fewer elements than the kernel.

    It then has other lengths than the kernel, or leaves elements unchanged where the kernel does not.
    """
    if own is None:
        return False
    shared = own.expressions.keys() & reference.expressions.keys()
    return any(
        not equal(reference.elements[name], own.elements[name]) or (name in reference.reads and name not in own.reads)
        for name in shared
    )


def _own(task: Task, resolver: Resolver, known: Mapping[str, Term]) -> Answer:
    """The reference that the kernel itself is."""
    try:
        reference = _of_kernel(task, resolver, known)
    except RecursionError:
        return Answer(None, "it is nested too deeply")
    except Unclear as e:
        return Answer(None, str(e))
    note = f"as the kernel itself computes them, {task.function.where}: is this what it should compute?"
    return Answer(reference, note, is_own=True)


def _constants(resolver: Resolver) -> dict[str, Term]:
    """The numbers of the file's constants, macros first."""
    bodies = {name: body for name, (body, _) in resolver.program.globals.items()}
    bodies |= {name: body for name, (names, body, _) in resolver.program.macros.items() if names is None}
    known = {name: resolver.constant(body) for name, body in bodies.items()}
    return {name: terms.number(value) for name, value in known.items() if value is not None}


def _state(arrays: Mapping[str, str], values: Mapping[str, Term]) -> State:
    names: dict[str, Value] = {name: Pointer(array) for name, array in arrays.items()}
    return State({**names, **values}, {name: isinstance(terms.value(v), float) for name, v in values.items()})


def _of_kernel(task: Task, resolver: Resolver, known: Mapping[str, Term]) -> Reference:
    block = task.geometry.block[0] if task.geometry.block else terms.name("block")
    setting = Setting(resolver.program, task.reals, known, block, task.block_value, task.types)
    body = task.function.node.child_by_field_name("body")
    return _with_kept_parts(
        write_reference(follow(body, _state(task.arrays, task.values), setting), task.geometry), task.outputs
    )


def _with_kept_parts(reference: Reference, outputs: frozenset[str]) -> Reference:
    """A reference with the parts of structures that the kernel leaves as they are."""
    if foreign := sorted(reference.expressions.keys() - outputs):
        raise Unclear(f"it stores to {foreign[0]}, which is a part of what a reference has an expression for")
    written = {name.partition(".")[0] for name in reference.expressions if "." in name}
    kept = sorted(name for name in outputs - reference.expressions.keys() if name.partition(".")[0] in written)
    expressions = {**reference.expressions, **{name: name for name in kept}}
    return replace(reference, expressions=expressions, reads=reference.reads | set(kept))


def _of_host(task: Task, resolver: Resolver, function: Function, known: Mapping[str, Term]) -> Reference:
    setting = Setting(resolver.program, task.reals, known, types=task.types)
    arrays, passed = _bound_arrays(task, resolver, function), _passed(resolver, function)
    found = {n: task.values.get(n) or _named(passed.get(n, UNKNOWN), known) for n, _ in function.parameters}
    values = {name: value for name, value in found.items() if value is not None and name not in arrays}
    body = function.node.child_by_field_name("body")
    return write_reference(follow(body, _state(arrays, values), setting), task.geometry)


def _candidates(task: Task, resolver: Resolver) -> Iterator[Function]:
    """Functions of the host that may compute what the kernel does: those that take all its outputs."""
    inputs = set(task.arrays.values()) - task.outputs
    for function in (f for each in resolver.program.functions.values() for f in each):
        if (
            function.is_of_host
            and function.name != "main"
            and task.outputs
            and not any(call.launch for call in function.calls)
        ):
            bound = set(_bound_arrays(task, resolver, function).values())
            if task.outputs <= bound and (inputs & bound or not inputs):
                yield function


def _bound_arrays(task: Task, resolver: Resolver, function: Function) -> dict[str, str]:
    """The kernel's arrays by a host function's parameters: of the same name, or passed the array that is copied."""
    names = {name: task.arrays[name] for name, _ in function.parameters if name in task.arrays}
    pointers = [name for name, _ in function.parameters if _is_pointer(function, name)]
    if set(pointers) <= set(names):
        return names
    for _, call in resolver.program.callers.get(function.name, ())[:1]:
        for (name, _), given in zip(function.parameters, call.arguments, strict=False):
            array = plain_pointer(given)
            if array[0] == "name" and array[1] in task.hosts:
                names.setdefault(name, task.hosts[array[1]])
    left, missing = [p for p in pointers if p not in names], task.outputs - set(names.values())
    if len(left) == len(missing) == 1 and names:  # the host's own result has no array on the device
        names[left[0]] = next(iter(missing))
    return names if set(pointers) <= set(names) else {}


def _is_pointer(function: Function, name: str) -> bool:
    before = r"(\*|&|vector\s*<[^>]*>\s*&?)\s*(?:__restrict__\s*|const\s+)?"
    declared = text_of(function.node.child_by_field_name("declarator"))
    return re.search(rf"{before}{re.escape(name)}\b|\b{re.escape(name)}\s*\[", declared) is not None


def _passed(resolver: Resolver, function: Function) -> dict[str, Term]:
    """What the first caller passes for each parameter, resolved."""
    for caller, call in resolver.program.callers.get(function.name, ())[:1]:
        scope = resolver.scope(caller, call.node.start_byte)
        names = (name for name, _ in function.parameters)
        return {name: resolver.resolve(term, scope) for name, term in zip(names, call.arguments, strict=False)}
    return {}


def _named(term: Term, known: Mapping[str, Term]) -> Term | None:
    """A resolved term with the YAML's names; `None` if it has constants that the YAML lacks."""

    def change(t: Term) -> Term | None:
        if t[0] != "constant":
            return None
        return known.get(t[1]) or (terms.number(t[2]) if t[2] is not None else None)

    result = terms.replaced(term, change)
    return result if all(t[0] in _NAMED for t in terms.leaves(result)) else None
