"""Read what a file's host code says about a kernel: its launch, the memory it passes, and what it fills it with.

The code is read, never run: constants, arithmetic and calls of the file's own functions are followed, from the launch
back to `main`. What only the program's run decides, such as its command line, is left open.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import tree_sitter

from runner.device.syntax import IDENTIFIERS, File, descendants, parse, text_of
from runner.importer import terms
from runner.importer.terms import UNKNOWN, Term

_ALLOCATING = re.compile(r"(cuda|hip)(Malloc|HostAlloc|HostMalloc)\w*")
_COPYING = re.compile(r"\w*[mM]emcpy\w*")
_MEMORY = re.compile(r"(cuda|hip)(Malloc|HostAlloc|HostMalloc)\w*|\w*[mM]em(cpy|set)\w*")
_BRANCHES = frozenset("if_statement for_statement while_statement do_statement switch_statement".split())
_RANDOM = frozenset("rand random std::rand drand48 lrand48".split())
_LAUNCHED = "kernel_call_syntax"
MAKING = frozenset(("init_declarator", "assignment_expression", "function_declarator"))  # `dim3 grid(n)` is the last
ALIASES = frozenset(("type_definition", "alias_declaration", "preproc_def"))
DEEPEST_CALL = 6  # functions between a launch and the constants that it depends on
MOST_STEPS = 20_000  # terms visited for one launch, so that a hostile file ends


@dataclass(frozen=True)
class Function:
    """A function that the host may call."""

    name: str
    parameters: tuple[tuple[str, Term], ...]  # names, and default arguments
    node: tree_sitter.Node = field(repr=False, compare=False)
    path: Path
    calls: tuple[tree_sitter.Node, ...] = field(repr=False, compare=False)


@dataclass(frozen=True)
class Definition:
    """A value that a statement gives a name."""

    begin: int
    end: int
    value: Term
    around: tuple[tuple[int, int], ...]  # bytes of the branches and loops around it
    line: int


@dataclass(frozen=True)
class Scope:
    """Where a term stands: in a function, before a byte, with what its caller passes."""

    function: Function | None = None
    before: int = 0
    bound: Mapping[str, tuple[Term, Scope | None]] = field(default_factory=dict)
    depth: int = 0


@dataclass(frozen=True)
class Memory:
    """What the host passes for a pointer."""

    elements: Term | None = None  # resolved
    fill: str = ""  # in the YAML's form; empty if unknown
    name: str = ""  # of the host's array
    is_output: bool = False  # whether the host copies it back
    where: str = ""


@dataclass(frozen=True)
class Launch:
    """A launch, resolved as far as the file tells."""

    where: str
    grid: tuple[Term, ...]
    block: tuple[Term, ...]
    shared: Term | None
    template: tuple[str | Term, ...]
    arguments: tuple[Term, ...]  # resolved; UNKNOWN for pointers
    memory: tuple[Memory | None, ...]
    scope: Scope = field(repr=False, compare=False)


class Program:
    """The parsed files of a program, indexed once."""

    def __init__(self, files: Mapping[Path, File]) -> None:
        self.macros: dict[str, tuple[tuple[str, ...] | None, Term, str]] = {}
        self.globals: dict[str, tuple[Term, str]] = {}
        self.functions: dict[str, list[Function]] = {}
        self.callers: dict[str, list[tuple[Function, tree_sitter.Node]]] = {}
        self.launches: dict[str, list[tuple[Function, tree_sitter.Node]]] = {}
        self._definitions: dict[int, dict[str, list[Definition]]] = {}
        self._steps = 0
        self._relevant: dict[int, list[tree_sitter.Node]] = {}  # by function
        self._called: dict[int, str] = {}  # names of called functions, by node
        self._given: dict[int, list[Term]] = {}  # arguments of calls, by node
        self._stored: dict[int, list[tuple[Term, Term, int, tuple[str, ...]]]] = {}  # by function
        self._locals: dict[int, frozenset[str]] = {}  # names that a function declares
        self._named: dict[int, list[tree_sitter.Node]] = {}
        self.aliases: list[tree_sitter.Node] = []  # nodes of type aliases and macros
        self._others: list[tuple[str, tuple[tuple[str, ...] | None, Term, str]]] = []  # further definitions of macros
        for path, file in files.items():
            self._index(path, file)
        for name, other in self._others:  # of several, in an #if, the first that has a value
            if (
                self.macros[name][0] is None
                and terms.value(terms.numbers(self.resolve(self.macros[name][1], None))) is None
            ):
                self.macros[name] = other

    def _index(self, path: Path, file: File) -> None:  # noqa: C901  (one case for each form)
        for item in file.items:
            node = item.node
            where = f"{path.name}:{node.start_point[0] + 1}"
            if node.type == "preproc_def":
                body = _macro_body(text_of(node.child_by_field_name("value")))
                name = text_of(node.child_by_field_name("name"))
                if self.macros.setdefault(name, (None, body, where)) != (None, body, where):
                    self._others.append((name, (None, body, where)))
            elif node.type == "preproc_function_def":
                listed = node.child_by_field_name("parameters")
                names = tuple(text_of(c) for c in listed.named_children) if listed else ()
                body = _macro_body(text_of(node.child_by_field_name("value")))
                self.macros.setdefault(text_of(node.child_by_field_name("name")), (names, body, where))
            elif node.type == "declaration":
                for declarator in node.children_by_field_name("declarator"):
                    if declarator.type == "init_declarator":
                        held = declarator.child_by_field_name("value")
                        self.globals.setdefault(_declared(declarator), (terms.read(held), where))
        for node in descendants(file.root):
            if node.type in ALIASES:
                self.aliases.append(node)
            if node.type == "function_definition" and node.child_by_field_name("body") is not None:
                self._function(node, path)

    def _function(self, node: tree_sitter.Node, path: Path) -> None:
        declarator = node.child_by_field_name("declarator")
        while declarator is not None and declarator.type != "function_declarator":
            declarator = declarator.child_by_field_name("declarator") or next(
                (c for c in declarator.named_children if c.type.endswith("declarator")), None
            )
        if declarator is None:
            return
        name = text_of(declarator.child_by_field_name("declarator")).rpartition("::")[2]
        listed = declarator.child_by_field_name("parameters")
        parameters = []
        for each in listed.named_children if listed else ():
            inner = each.child_by_field_name("declarator")
            words = [text_of(n) for n in descendants(inner) if n.type in IDENTIFIERS] if inner else []
            parameters.append(((words or [""])[0], terms.read(each.child_by_field_name("default_value"))))
        calls = tuple(n for n in descendants(node) if n.type == "call_expression")
        function = Function(name, tuple(parameters), node, path, calls)
        self.functions.setdefault(name, []).append(function)
        for call in calls:
            called = _called(call)
            kind = self.launches if any(c.type == _LAUNCHED for c in call.children) else self.callers
            kind.setdefault(called, []).append((function, call))

    def definitions(self, function: Function) -> dict[str, list[Definition]]:
        """The values that a function's statements give its names, in order."""
        if function.node.id not in self._definitions:
            found: dict[str, list[Definition]] = {}
            for key, given, node in _assigned(function.node):
                if key in found and terms.name(key) in terms.leaves(given):
                    continue  # `j = j * 2`, in a loop
                around, parent = [], node.parent
                inner = node
                while parent is not None and parent.id != function.node.id:
                    if parent.type in _BRANCHES and parent.child_by_field_name("initializer") != inner:
                        around.append((parent.start_byte, parent.end_byte))
                    inner, parent = parent, parent.parent
                entry = Definition(node.start_byte, node.end_byte, given, tuple(around), node.start_point[0] + 1)
                found.setdefault(key, []).append(entry)
            self._definitions[function.node.id] = found
        return self._definitions[function.node.id]

    def given(self, call: tree_sitter.Node) -> list[Term]:
        """The arguments of a call, read once."""
        if call.id not in self._given:
            self._given[call.id] = [terms.read(a) for a in _arguments(call)]
        return self._given[call.id]

    def called(self, call: tree_sitter.Node) -> str:
        """The plain name of a call's function, read once."""
        if call.id not in self._called:
            self._called[call.id] = _called(call)
        return self._called[call.id]

    def relevant(self, function: Function) -> list[tree_sitter.Node]:
        """The calls of a function that allocate, copy or set memory, or that are the file's own; launches are not."""
        if function.node.id not in self._relevant:
            calls = (c for c in function.calls if not any(each.type == _LAUNCHED for each in c.children))
            self._relevant[function.node.id] = [
                c for c in calls if self.called(c) in self.functions or _MEMORY.fullmatch(self.called(c))
            ]
        return self._relevant[function.node.id]

    def stores(self, function: Function) -> list[tuple[Term, Term, int, tuple[str, ...]]]:
        """Each assignment to an element: target, value, byte, and the variables of the loops around it."""
        if function.node.id not in self._stored:
            self._stored[function.node.id] = [
                (target, held, node.start_byte, tuple(_loop_names(node, function.node)))
                for target, held, node in _stores(function.node)
            ]
        return self._stored[function.node.id]

    def making(self, function: Function) -> list[tree_sitter.Node]:
        """The nodes of a function that give a name a value, in order."""
        if function.node.id not in self._named:
            self._named[function.node.id] = [n for n in descendants(function.node) if n.type in MAKING]
        return self._named[function.node.id]

    def launches_of(self, plain: str) -> Iterator[Launch]:
        """The launches of a kernel, given by its name without namespaces, in the order of the files."""
        for function, call in self.launches.get(plain, ()):
            yield self._launch(function, call, self.scope(function, call.start_byte, 0))

    def scope(self, function: Function, before: int, depth: int = 0) -> Scope:
        """The scope of a function's body, bound to its first caller."""
        bound: dict[str, tuple[Term, Scope | None]] = {}
        callers = [c for c in self.callers.get(function.name, ()) if c[0].node.id != function.node.id]
        callers = [c for c in callers if len(_arguments(c[1])) <= len(function.parameters)]
        if callers and depth < DEEPEST_CALL and function.name != "main":
            caller, call = callers[0]
            outer, given = self.scope(caller, call.start_byte, depth + 1), _arguments(call)
            for index, (name, default) in enumerate(function.parameters):
                bound[name] = (terms.read(given[index]), outer) if index < len(given) else (default, None)
        return Scope(function, before, bound, depth)

    def _launch(self, function: Function, call: tree_sitter.Node, scope: Scope) -> Launch:
        shape = next(c for c in call.children if c.type == _LAUNCHED)
        parts = [terms.read(c) for c in shape.named_children if c.type != "comment"]
        parts += [UNKNOWN] * (4 - len(parts))
        given = [terms.read(a) for a in _arguments(call)]
        called = call.child_by_field_name("function")
        if called is not None and called.type == "qualified_identifier":
            called = called.child_by_field_name("name")
        types = called.child_by_field_name("arguments") if called and called.type == "template_function" else None
        template = [c for c in types.named_children if c.type != "comment"] if types else []
        return Launch(
            where=f"{function.path.name}:{call.start_point[0] + 1}",
            grid=self.dimensions(parts[0], scope),
            block=self.dimensions(parts[1], scope),
            shared=self.resolve(parts[2], scope) if parts[2] != UNKNOWN else None,
            template=tuple(_template_argument(c) for c in template),
            arguments=tuple(self.resolve(t, scope) for t in given),
            memory=tuple(self.memory(t, scope) for t in given),
            scope=scope,
        )

    def dimensions(self, term: Term, scope: Scope, depth: int = 0) -> tuple[Term, ...]:
        """The parts of a `dim3`, x first; one part for an integer."""
        if depth > DEEPEST_CALL:
            return ()
        match term:
            case ("call", "dim3", *given) | ("cast", "dim3", *given) | ("list", *given):
                return tuple(self.resolve(t, scope) for t in given)
            case ("?", condition, yes, no):
                known = terms.value(self.resolve(condition, scope))
                return self.dimensions(no if known == 0 else yes, scope, depth + 1)
            case ("name", text) if text in scope.bound:
                inner, outer = scope.bound[text]
                return self.dimensions(inner, outer or Scope(), depth + 1)
            case ("name", text) if (found := self._latest(text, scope)) is not None:
                parts = list(self.dimensions(found.value, scope, depth + 1))
                for axis, member in enumerate("xyz"):
                    part = self._latest(f"{text}.{member}", scope)
                    if part is not None and part.begin > found.begin:
                        parts += [terms.number(1)] * (axis + 1 - len(parts))
                        parts[axis] = self.resolve(part.value, scope)
                return tuple(parts)
            case ("name", text) if any(self._latest(f"{text}.{m}", scope) for m in "xyz"):
                members = [self._latest(f"{text}.{m}", scope) for m in "xyz"]
                return tuple(self.resolve(m.value, scope) if m else terms.number(1) for m in members)
        return (self.resolve(term, scope),)

    def _latest(self, name: str, scope: Scope) -> Definition | None:
        """The definition of a name that holds before a scope's byte; one in a branch beside it is the last resort."""
        if scope.function is None:
            return None
        found: Definition | None = None
        for each in self.definitions(scope.function).get(name, ()):
            if each.end > scope.before:
                break
            beside = any(not begin <= scope.before < end for begin, end in each.around)
            if found is None or found.value == UNKNOWN or not beside:
                found = each
        return found

    def resolve(self, term: Term, scope: Scope | None, depth: int = 0) -> Term:  # noqa: C901  (one case for each form)
        """A term in which each name is a constant of the program: `("constant", name, value, where, is_global)`."""
        self._steps = self._steps + 1 if depth else 0
        if depth > terms.DEEPEST or self._steps > MOST_STEPS:
            return UNKNOWN
        match term:
            case ("name", text):
                return self._resolved_name(text, scope, depth)
            case ("member", ("name", text), field_name) if scope is not None and (
                found := self._latest(f"{text}.{field_name}", scope)
            ):
                return self.resolve(found.value, scope, depth + 1)
            case ("member", ("name", text), ("x" | "y" | "z") as axis) if scope is not None:
                parts = self.dimensions(("name", text), scope)
                place = "xyz".index(axis)
                return parts[place] if place < len(parts) and len(parts) > 0 else terms.number(1)
            case ("?", condition, yes, no):
                known = terms.value(self.resolve(condition, scope, depth + 1))
                if known is not None:
                    return self.resolve(yes if known else no, scope, depth + 1)
                if "argc" in repr(condition) or "argv" in repr(condition):
                    both = [self.resolve(t, scope, depth + 1) for t in (yes, no)]
                    return next((t for t in both if not _open(t)), both[1])
            case ("call", function, *given):
                return self._resolved_call(function, given, scope, depth)
            case ("index", ("name", text), place) if scope is not None and (found := self._latest(text, scope)):
                inner = found.value
                chosen = terms.value(self.resolve(place, scope, depth + 1))
                if inner[0] == "list" and len(inner) > 1:
                    at = int(chosen) + 1 if chosen is not None else 1
                    return self.resolve(inner[min(at, len(inner) - 1)], scope, depth + 1)
        return terms.simplified(
            tuple(self.resolve(each, scope, depth + 1) if isinstance(each, tuple) else each for each in term)
        )

    def _resolved_name(self, text: str, scope: Scope | None, depth: int) -> Term:
        if scope is not None and text in scope.bound:
            inner, outer = scope.bound[text]
            return inner if inner[0] == "axis" else self.resolve(inner, outer, depth + 1)
        where, definition = "", None
        if scope is not None and scope.function is not None:
            definition = self._latest(text, scope)
            line = definition.line if definition else scope.function.node.start_point[0] + 1
            where = f"{scope.function.path.name}:{line}"
        if definition is not None:
            return self._constant(text, definition.value, scope, where, depth, is_global=False)
        if text in self.macros and self.macros[text][0] is None:
            _, body, where = self.macros[text]
            return self._constant(text, body, None, where, depth, is_global=True)
        if text in self.globals:
            body, where = self.globals[text]
            return self._constant(text, body, None, where, depth, is_global=True)
        return ("constant", text, None, where, False)

    def _constant(self, text: str, body: Term, scope: Scope | None, where: str, depth: int, *, is_global: bool) -> Term:
        inner = self.resolve(body, scope, depth + 1)
        known = terms.value(inner)
        if known is not None:
            return ("constant", text, known, where, is_global)
        return ("constant", text, None, where, False) if _open(inner) and inner[0] != "constant" else inner

    def _resolved_call(self, function: str, given: Sequence[Term], scope: Scope | None, depth: int) -> Term:
        names: tuple[str, ...] | None = None
        body = UNKNOWN
        if function in self.macros and self.macros[function][0] is not None:
            names, body, _ = self.macros[function]
        elif len(self.functions.get(function.rpartition("::")[2], ())) == 1:
            known = self.functions[function.rpartition("::")[2]][0]
            names, body = tuple(n for n, _ in known.parameters), _returned(known)
        if names is not None and body != UNKNOWN and len(names) == len(given):
            bound: dict[str, tuple[Term, Scope | None]] = dict(zip(names, ((t, scope) for t in given), strict=True))
            return self.resolve(body, Scope(None, 0, bound), depth + 1)
        known_names = {"ceil_div": 2, "cdiv": 2, "div_up": 2, "divUp": 2, "DIVUP": 2, "iDivUp": 2}
        inner = tuple(self.resolve(t, scope, depth + 1) for t in given)
        if known_names.get(function) == len(given):
            return ("call", "ceil_div", *inner)
        return terms.simplified(("call", function, *inner))

    # --- memory ---

    def memory(self, term: Term, scope: Scope) -> Memory | None:
        """What an argument points to; `None` if the file does not tell."""
        variable, scope = self._variable(term, scope)
        if variable is None or scope.function is None:
            return None
        size, where = self._allocated(variable, scope, 0)
        host, is_output, is_zero = None, False, False
        for call in self.relevant(scope.function):
            name = self.called(call)
            given = [plain_pointer(a) for a in self.given(call)[:4]] if _COPYING.fullmatch(name) else []
            if len(given) > 1 and given[0] == variable and call.start_byte < scope.before and host is None:
                host = given[1]
            elif len(given) > 1 and given[1] == variable:
                is_output = True
            if re.fullmatch(r"\w*[mM]emset\w*", name) and call.start_byte < scope.before:
                args = self.given(call)
                is_zero |= len(args) > 2 and plain_pointer(args[0]) == variable and terms.value(args[1]) == 0
        source = host if host is not None else variable
        fill = self.fill(source, scope, 0) or ("zeros" if is_zero else "")
        name = source[1] if source[0] == "name" else ""
        if size is None and fill == "" and host is None:
            return None
        return Memory(size, fill, name, is_output, where)

    def _variable(self, term: Term, scope: Scope) -> tuple[Term | None, Scope]:
        """The variable that holds a pointer, in the function that declares it."""
        for _ in range(DEEPEST_CALL):
            term = plain_pointer(term)
            if term[0] == "name" and term[1] in scope.bound:
                inner, outer = scope.bound[term[1]]
                if outer is None:
                    return None, scope
                term, scope = inner, outer
            elif (
                term[0] == "name"
                and (found := self._latest(term[1], scope))
                and plain_pointer(found.value)[0] == "name"
            ):
                term = found.value  # an alias: `float* a = b;`
            else:
                return (term, scope) if term[0] in ("name", "member", "index") else (None, scope)
        return None, scope

    def _allocated(self, variable: Term, scope: Scope, depth: int) -> tuple[Term | None, str]:  # noqa: C901  (one case for each form)
        """The number of elements behind a pointer, and the line of its allocation."""
        if scope.function is None or depth > 2:
            return None, ""
        functions = [(scope.function, scope)]
        if depth == 0 and variable[0] == "name" and not self._is_local(variable[1], scope.function):
            functions += [(f, self.scope(f, f.node.end_byte, 1)) for each in self.functions.values() for f in each]
        for function, inside in functions:
            for call in self.relevant(function):
                name, given = self.called(call), self.given(call)
                if not given or (function is scope.function and depth == 0 and call.start_byte > scope.before):
                    continue
                where = f"{function.path.name}:{call.start_point[0] + 1}"
                if _ALLOCATING.fullmatch(name) and len(given) > 1:
                    if plain_pointer(given[0]) in (variable, ("content", variable)):
                        pitch = name.endswith("Pitch")
                        return (None if pitch else self._elements(given[1], inside)), where
                elif name in self.functions and len(self.functions[name]) == 1 and len(given) <= 12:
                    callee = self.functions[name][0]
                    for index, passed in enumerate(given[: len(callee.parameters)]):
                        if passed == ("address", variable) or (passed == variable and depth > 0):
                            bound = {n: (a, inside) for (n, _), a in zip(callee.parameters, given, strict=False)}
                            below = Scope(callee, callee.node.end_byte, bound, inside.depth + 1)
                            size, at = self._allocated(("name", callee.parameters[index][0]), below, depth + 1)
                            if size is not None:
                                return size, at
        if depth <= 1 and variable[0] == "name":
            return self._declared_size(variable[1], scope)
        return None, ""

    def _declared_size(self, name: str, scope: Scope) -> tuple[Term | None, str]:
        """The elements of `new T[n]`, `malloc(n * sizeof(T))`, `vector<T> v(n)` or `T a[n]`."""
        found = self._latest(name, scope)
        if found is None or scope.function is None:
            return None, ""
        where, given = f"{scope.function.path.name}:{found.line}", plain_pointer(found.value)
        match given:
            case ("call", "malloc" | "std::malloc", size):
                return self._elements(size, scope), where
            case ("call", "calloc", count, _):
                return self.resolve(count, scope), where
            case ("list", size, *_) | ("new", size):
                return self.resolve(size, scope), where
            case ("call", function, *passed) if (
                len(self.functions.get(function, ())) == 1 and scope.depth < DEEPEST_CALL
            ):
                callee = self.functions[function][0]
                back = plain_pointer(_returned(callee))
                if back[0] == "name":
                    return self._allocated(back, self._called_scope(callee, passed, scope), 1)
        return None, ""

    def _is_local(self, name: str, function: Function) -> bool:
        if function.node.id not in self._locals:
            declared = (n for n in descendants(function.node) if n.type in ("declaration", "parameter_declaration"))
            heads = (text_of(d).split("=")[0] for n in declared for d in n.children_by_field_name("declarator"))
            self._locals[function.node.id] = frozenset(w for head in heads for w in re.findall(r"\w+", head))
        return name in self._locals[function.node.id]

    def _elements(self, size: Term, scope: Scope) -> Term | None:
        """A number of bytes as a number of elements: without its `sizeof`."""
        resolved = self.resolve(size, scope)
        if resolved == UNKNOWN:
            return None
        result: terms.Polynomial = {}
        for atoms, factor in terms.polynomial(resolved).items():
            sizes = [a for a in atoms if a[0] == "sizeof"]
            if len(sizes) != 1:
                return ("bytes", resolved)
            result[tuple(a for a in atoms if a[0] != "sizeof")] = factor
        return terms.term_of(result)

    # --- contents ---

    def fill(self, variable: Term, scope: Scope, depth: int) -> str:  # noqa: C901, PLR0912  (one case for each form)
        """How the host fills an array before the launch, in the YAML's form; empty if the file does not tell."""
        if scope.function is None or depth > 3 or variable[0] != "name":
            return ""
        if found := self._latest(variable[1], scope):
            match plain_pointer(found.value):
                case ("list", _, content):
                    return _fill_text(self.resolve(content, scope), UNKNOWN)
                case ("call", "calloc", *_):
                    return "zeros"
                case ("call", function, *given) if len(self.functions.get(function, ())) == 1:
                    callee = self.functions[function][0]
                    inside = self._called_scope(callee, given, scope)
                    back = plain_pointer(_returned(callee))
                    if back[0] == "name" and (text := self.fill(back, inside, depth + 1)):
                        return text
        for target, stored, begin, names in self.stores(scope.function):
            if begin < scope.before and target[0] == "index" and plain_pointer(target[1]) == variable:
                loops = {n: (("axis", n), None) for n in names}
                inside = dataclasses.replace(scope, bound={**scope.bound, **loops}, before=begin)
                place = self.resolve(target[2], inside) if len(target) == 3 else UNKNOWN
                if text := _fill_text(self.resolve(stored, inside), place):
                    return text
        for call in self.relevant(scope.function):
            name = self.called(call)
            if call.start_byte >= scope.before or len(self.functions.get(name, ())) != 1:
                continue
            callee, passed = self.functions[name][0], self.given(call)[:12]
            for (parameter, _), each in zip(callee.parameters, passed, strict=False):
                if plain_pointer(each) == variable and "__global__" not in text_of(callee.node)[:200]:
                    inside = self._called_scope(callee, passed, scope)
                    unbound = {n: v for n, v in inside.bound.items() if n != parameter}
                    inside = dataclasses.replace(inside, bound=unbound)
                    if text := self.fill(("name", parameter), inside, depth + 1):
                        return text
        return ""

    def _called_scope(self, callee: Function, given: Sequence[Term], scope: Scope) -> Scope:
        bound = {n: (t, scope) for (n, _), t in zip(callee.parameters, given, strict=False)}
        return Scope(callee, callee.node.end_byte, bound, scope.depth + 1)


def _open(term: Term) -> bool:
    """Whether a term depends on something that the file does not tell."""
    return any(
        t[0] in ("unknown", "call", "method", "index", "member") and t[1:2] != ("ceil_div",) for t in terms.leaves(term)
    )


def plain_pointer(term: Term) -> Term:
    """A pointer without casts, `&`, `&x[0]` and `.data()`."""
    while True:
        match term:
            case ("cast", _, inner) | ("address", ("index", inner, ("number", 0))) | ("address", inner):
                term = inner
            case ("method", inner, "data" | "get", *_) | ("call", "thrust::raw_pointer_cast", inner):
                term = inner
            case _:
                return term


def _macro_body(text: str) -> Term:
    """The term of a macro's body; only an expression has one."""
    body = re.sub(r"/\*.*?\*/|//.*", "", text).strip().replace("\\\n", " ")
    if not body or len(body) > 400 or ";" in body or "{" in body:
        return UNKNOWN
    root = parse(f"int value = {body};").root
    declared = next((n for n in root.named_children if n.type == "declaration"), None)
    inner = declared.child_by_field_name("declarator") if declared is not None and not root.has_error else None
    return terms.read(inner.child_by_field_name("value")) if inner is not None else UNKNOWN


def _called(call: tree_sitter.Node) -> str:
    """The name of a called function, without namespaces and template arguments."""
    function = call.child_by_field_name("function")
    if function is not None and function.type == "qualified_identifier":
        function = function.child_by_field_name("name") or function
    if function is not None and function.type == "template_function":
        function = function.child_by_field_name("name")
    return text_of(function).rpartition("::")[2]


def _arguments(call: tree_sitter.Node) -> list[tree_sitter.Node]:
    given = call.child_by_field_name("arguments")
    return [c for c in given.named_children if c.type != "comment"] if given else []


def _template_argument(node: tree_sitter.Node) -> str | Term:
    """A type as text, a value as a term."""
    words = text_of(node)
    if node.type == "type_descriptor" and not re.fullmatch(r"[A-Za-z_]\w*", words):
        return words
    if node.type == "type_descriptor":
        return terms.name(words)
    read = terms.read(node)
    return words if read == UNKNOWN else read


def _declared(declarator: tree_sitter.Node) -> str:
    inner = declarator.child_by_field_name("declarator")
    while inner is not None and inner.type not in IDENTIFIERS:
        inner = inner.child_by_field_name("declarator") or next(
            (c for c in inner.named_children if c.type in IDENTIFIERS or c.type.endswith("declarator")), None
        )
    return text_of(inner)


def _assigned(function: tree_sitter.Node) -> Iterator[tuple[str, Term, tree_sitter.Node]]:
    """Each name to which a function gives a value: declarations, assignments, members as `name.member`."""
    for node in descendants(function):
        if node.type == "init_declarator":
            held = node.child_by_field_name("value")
            if held is not None and held.type == "new_expression":
                below = held.child_by_field_name("declarator")
                yield _declared(node), ("new", terms.read(below.child_by_field_name("length") if below else None)), node
            else:
                yield _declared(node), terms.read(held), node
        elif node.type == "array_declarator" and (node.parent is not None and node.parent.type == "declaration"):
            yield _declared(node), ("new", terms.read(node.child_by_field_name("size"))), node
        elif node.type == "function_declarator" and node.parent is not None and node.parent.type == "declaration":
            listed = node.child_by_field_name("parameters")  # `dim3 grid(n)` is parsed as a function
            words = [text_of(c) for c in listed.named_children] if listed else []
            if words and all(len(w) < 100 and re.fullmatch(r"[\w\s*]+", w) for w in words):
                yield _declared(node), ("list", *(_macro_body(w) for w in words)), node
        elif node.type == "assignment_expression" and text_of(node.child_by_field_name("operator")) == "=":
            target = node.child_by_field_name("left")
            held = node.child_by_field_name("right")
            if target is not None and target.type == "identifier":
                yield text_of(target), terms.read(held), node
            elif target is not None and target.type == "field_expression":
                yield text_of(target).replace("->", "."), terms.read(held), node


def _stores(function: tree_sitter.Node) -> Iterator[tuple[Term, Term, tree_sitter.Node]]:
    """Each assignment to an element of an array."""
    for node in descendants(function):
        if node.type == "assignment_expression" and text_of(node.child_by_field_name("operator")) == "=":
            target = node.child_by_field_name("left")
            if target is not None and target.type == "subscript_expression":
                yield terms.read(target), terms.read(node.child_by_field_name("right")), node


def _loop_names(node: tree_sitter.Node, function: tree_sitter.Node) -> Iterator[str]:
    """The variables of the loops around a statement."""
    parent = node.parent
    while parent is not None and parent.id != function.id:
        if parent.type == "for_statement" and (first := parent.child_by_field_name("initializer")):
            for each in descendants(first):
                if each.type == "init_declarator":
                    yield _declared(each)
                elif each.type == "assignment_expression":
                    yield text_of(each.child_by_field_name("left"))
        parent = parent.parent


def _returned(function: Function) -> Term:
    """What a function returns, if it has one `return`."""
    found = [n for n in descendants(function.node) if n.type == "return_statement"]
    return terms.read(found[-1].named_children[0]) if len(found) == 1 and found[0].named_children else UNKNOWN


def _fill_text(content: Term, place: Term) -> str:
    """A fill in the YAML's form, for what a loop stores at a place; empty if it has none."""
    known = terms.value(terms.numbers(content))
    if known is not None:
        return "zeros" if known == 0 else "ones" if known == 1 else terms.number_text(known)
    if any(t[0] == "call" and t[1] in _RANDOM for t in terms.leaves(content)):
        low_high = _interval(content)
        if low_high is None:
            return ""
        low, high, whole = low_high
        high = high + 1 if whole else high
        return f"{{range: [{low}, {high}]}}" if low < high else ""
    if content[0] == "axis" and place == content:
        return "index"
    return ""


def _interval(term: Term) -> tuple[float, float, bool] | None:  # noqa: C901  (one case for each form)
    """The least and the largest value of a term of `rand()`, and whether it is whole; `None` if it is unknown."""
    known = terms.value(terms.numbers(term))
    if known is not None:
        return known, known, isinstance(known, int)
    match term:
        case ("call", "drand48"):
            return 0.0, 1.0, False
        case ("call", function) if function in _RANDOM:
            return 0, 2147483647, True
        case ("cast", kind, inner):
            found = _interval(inner)
            return found and ((float(found[0]), float(found[1]), False) if terms.is_real_type(kind) else found)
        case ("negative", inner):
            found = _interval(inner)
            return found and (-found[1], -found[0], found[2])
        case ("%", inner, divisor):
            most = terms.value(terms.numbers(divisor))
            return (0, most - 1, True) if isinstance(most, int) and most > 0 and _interval(inner) else None
        case ("&", inner, mask):
            most = terms.value(terms.numbers(mask))
            return (0, most, True) if isinstance(most, int) and most > 0 and _interval(inner) else None
        case (("+" | "-" | "*" | "/" | "//") as operator, left, right):
            a, b = _interval(left), _interval(right)
            if a is None or b is None or (operator in ("/", "//") and b[0] <= 0 <= b[1]):
                return None
            whole = a[2] and b[2]
            ends = [
                terms.calculated("//" if operator == "/" and whole else operator, x, y) for x in a[:2] for y in b[:2]
            ]
            if any(e is None for e in ends):
                return None
            return min(ends), max(ends), whole  # type: ignore[type-var, return-value]
    return None
