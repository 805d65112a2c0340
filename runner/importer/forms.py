"""What a plain function computes: a kernel or a function of the host, as one store for each output array.

The body is followed statement by statement with symbols for its threads and loops. The result is exact for the forms
below; any other statement raises `Unclear`, so nothing is guessed:

- elements that depend on the thread's place, with guards, branches and functions of the file;
- loops that add up, or take the largest, and loops over outputs;
- sums of a block in shared memory, as trees that halve or double their step;
- atomic additions.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import tree_sitter

from runner.device.syntax import IDENTIFIERS, descendants, text_of
from runner.importer import terms
from runner.importer.host import Function, Program
from runner.importer.terms import UNKNOWN, Term

MOST_STATEMENTS = 4_000  # of one function, with those of the functions that it calls
MOST_UNROLLED = 16
WARP = 32  # lanes
_IGNORED = frozenset(
    "comment ; preproc_call using_declaration static_assert_declaration namespace_alias_definition alias_declaration "
    "type_definition".split()
)
_QUIET = re.compile(r"printf|assert|__sync\w*|__threadfence\w*|fprintf|cudaCheck|__nanosleep|f?flush|std::cout.*")
_INTEGERS = re.compile(r"(u?int\d*(_t)?|unsigned|signed|long|short|char|size_t|ptrdiff_t|uint|bool|auto)\b")
_MATH = {
    "sqrt": "sqrt", "rsqrt": "rsqrt", "exp": "exp", "log": "log", "sin": "sin", "cos": "cos", "tanh": "tanh",
    "fabs": "abs", "abs": "abs", "floor": "floor", "ceil": "ceil", "erf": "erf", "exp2": "exp2", "log2": "log2",
    "log10": "log10", "log1p": "log1p", "expm1": "expm1", "sinh": "sinh", "atan": "atan", "asin": "asin",
    "acos": "acos",     "cbrt": "cbrt", "erfc": "erfc", "rint": "rint",
}  # fmt: skip
_FAST = {"__expf": "exp", "__logf": "log", "__sinf": "sin", "__cosf": "cos", "__fdividef": "/", "__powf": "pow",
         "__log2f": "log2", "__log10f": "log10", "__tanf": "tan"}  # fmt: skip
_LOADING = frozenset("__ldg __ldcs __ldca __ldcg __ldlu __ldcv".split())
_STORING = frozenset("__stcs __stcg __stwb __stwt".split())
_CONVERTING = re.compile(r"__(float|half|bfloat16|nv_bfloat16)2(float|half|bfloat16|nv_bfloat16)(_rn)?|make_float1")
_FORWARD = ("+", "*", "maximum", "minimum")  # how a loop or a block joins values


_OPERATIONS: Mapping[str, str] = {
    "__hadd": "+", "__hmul": "*", "__hsub": "-", "__hdiv": "/", "__hfma": "fma", "__fadd_rn": "+", "__fmul_rn": "*",
    "__fsub_rn": "-", "__fdiv_rn": "/", "__fmaf_rn": "fma",
}  # fmt: skip
_LIMITS: Mapping[str, int | float] = {
    "warpSize": WARP, "FLT_MAX": 3.4028234663852886e38, "INFINITY": 3.4028234663852886e38,
    "DBL_MAX": 1.7976931348623157e308, "M_PI": 3.141592653589793, "INT_MAX": 2147483647, "INT_MIN": -2147483648,
    "FLT_EPSILON": 1.1920928955078125e-07,
}  # fmt: skip


class Unclear(Exception):
    """A function has a form that is not followed; the message says which."""


@dataclass(frozen=True)
class Pointer:
    """A pointer into an array of the caller."""

    array: str
    offset: Term = ("number", 0)
    extents: tuple[Term, ...] = ()  # of the inner axes, for `float a[][N]`


@dataclass(frozen=True)
class Store:
    """One assignment to an array: element `place` becomes `value` wherever `conditions` hold."""

    array: str
    place: Term
    value: Term
    conditions: tuple[Term, ...]
    adds: bool = False  # whether it is an atomic addition


@dataclass
class Found:
    """What a function does."""

    stores: list[Store] = field(default_factory=list)
    extents: dict[str, Term] = field(default_factory=dict)  # of axes: loops', and threads' where a guard bounds them
    fast: bool = False  # whether it calls fast functions
    prints: bool = False


@dataclass
class _Shared:
    """An array in shared memory, of which only the element of the thread itself is known."""

    place: Term | None = None
    value: Term | None = None
    first: Term | None = None  # element 0, once a tree has joined all of them


Value = Term | Pointer


@dataclass
class State:
    """The names of a function's body at a statement."""

    names: dict[str, Value]
    reals: dict[str, bool]  # whether a local variable is real
    conditions: tuple[Term, ...] = ()
    is_over: bool = False  # after a `return`


class Reader:
    """Follows one function."""

    def __init__(self, program: Program, real_arrays: Mapping[str, bool], known: Mapping[str, Term]) -> None:
        self.program = program
        self.real_arrays = real_arrays  # whether each array's elements are real numbers
        self.known = known  # constants of the file, by name
        self.found = Found()
        self.shared: dict[str, _Shared] = {}
        self.returned: list[Term] = []
        self._steps = 0
        self._axes = 0
        self.block: Term = terms.name("block")  # threads of the block along x
        self.block_value: int | None = None
        self.types: frozenset[str] = frozenset()  # names of real types

    # --- statements ---

    def follow(self, body: tree_sitter.Node | None, state: State) -> None:
        """Follow the statements of a block."""
        if body is None:
            raise Unclear("it has no body")
        nodes = body.named_children if body.type == "compound_statement" else [body]
        for node in nodes:
            if state.is_over:
                return
            self._statement(node, state)

    def _statement(self, node: tree_sitter.Node, state: State) -> None:  # noqa: C901, PLR0912  (one case for each form)
        self._steps += 1
        if self._steps > MOST_STATEMENTS:
            raise Unclear("it is too long")
        match node.type:
            case kind if kind in _IGNORED:
                return
            case "compound_statement":
                self.follow(node, state)
            case "declaration":
                self._declaration(node, state)
            case "expression_statement":
                for each in node.named_children:
                    self._effect(each, state)
            case "if_statement":
                if not self._goes_on_joining(node):
                    self._if(node, state)
            case "for_statement":
                self._for(node, state)
            case "while_statement":
                self._while(node, state)
            case "return_statement":
                if node.named_children and node.named_children[0].type != "comment":
                    if state.conditions:
                        raise Unclear("it returns a value in a branch")
                    self.returned.append(self.term(node.named_children[0], state))
                state.is_over = True
            case _:
                raise Unclear(f"line {node.start_point[0] + 1} is a {node.type.replace('_', ' ')}")

    def _declaration(self, node: tree_sitter.Node, state: State) -> None:
        head = text_of(node)[:400].split()
        kind = text_of(node.child_by_field_name("type"))
        if "__shared__" in head:
            for declarator in node.children_by_field_name("declarator"):
                name = next((text_of(n) for n in descendants(declarator) if n.type in IDENTIFIERS), "")
                self.shared[name] = _Shared()
            return
        for declarator in node.children_by_field_name("declarator"):
            if declarator.type == "init_declarator":
                name = next(text_of(n) for n in descendants(declarator) if n.type in IDENTIFIERS)
                if any(n.type == "array_declarator" for n in descendants(declarator)):
                    raise Unclear(f"it has an array of its own, {name}")
                held = declarator.child_by_field_name("value")
                if held is not None and held.type in ("argument_list", "initializer_list") and held.named_children:
                    held = held.named_children[0]
                value = self.value(held, state)
                self._assign(name, value, state, kind=kind)
            elif declarator.type in ("identifier", "pointer_declarator"):
                name = next(text_of(n) for n in descendants(declarator) if n.type in IDENTIFIERS)
                state.names[name] = UNKNOWN
                state.reals[name] = not _INTEGERS.match(kind)
            else:
                raise Unclear(f"line {node.start_point[0] + 1} declares more than numbers and pointers")

    def _assign(self, name: str, value: Value, state: State, kind: str = "") -> None:
        if kind:
            state.reals[name] = (
                not _INTEGERS.match(kind) if kind != "auto" else not isinstance(value, Pointer) and self.is_real(value)
            )
        if not isinstance(value, Pointer) and self.is_real(value) and not state.reals.get(name, True):
            raise Unclear(f"it converts a real number to the integer {name}")
        if not isinstance(value, Pointer) and state.reals.get(name) and not self.is_real(value):
            value = ("cast", "float", value)
        state.names[name] = value

    def _effect(self, node: tree_sitter.Node, state: State) -> None:  # noqa: C901, PLR0912  (one case for each form)
        """An expression that is a statement."""
        match node.type:
            case "assignment_expression":
                operator = text_of(node.child_by_field_name("operator"))
                left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
                if right is not None and right.type == "assignment_expression":
                    self._effect(right, state)
                    right = right.child_by_field_name("left")
                value = self.value(right, state)
                if operator != "=":
                    old = self.value(left, state)
                    if isinstance(value, Pointer):
                        raise Unclear("it moves a pointer")
                    if isinstance(old, Pointer):
                        if operator not in ("+=", "-="):
                            raise Unclear("it moves a pointer")
                        value = replace(old, offset=(operator[0], old.offset, value))
                    else:
                        value = self.joined(operator[:-1], old, value)
                self._store(left, value, state)
            case "update_expression":
                inner = node.child_by_field_name("argument")
                operator = text_of(node.child_by_field_name("operator"))
                if inner is None or inner.type != "identifier":
                    old = self.term(inner, state)
                    self._store(inner, self.joined(operator[0], old, terms.number(1)), state)
                    return
                old = self.value(inner, state)
                if isinstance(old, Pointer):
                    raise Unclear("it moves a pointer")
                self._assign(text_of(inner), self.joined(operator[0], old, terms.number(1)), state)
            case "comma_expression":
                for each in node.named_children:
                    self._effect(each, state)
            case "call_expression":
                self._call_statement(node, state)
            case _:
                raise Unclear(f"line {node.start_point[0] + 1} is a {node.type.replace('_', ' ')}")

    def _call_statement(self, node: tree_sitter.Node, state: State) -> None:
        called = text_of(node.child_by_field_name("function"))
        given = node.child_by_field_name("arguments")
        listed = [c for c in given.named_children if c.type != "comment"] if given else []
        if _QUIET.fullmatch(called) or called.endswith(".sync"):
            self.found.prints |= called == "printf"
            return
        if called == "atomicAdd" and len(listed) == 2:
            place, value = self.value(listed[0], state), self.term(listed[1], state)
            if not isinstance(place, Pointer) or place.extents:
                raise Unclear("it adds atomically to what is not an array of its caller")
            self._store_at(place.array, place.offset, value, state, adds=True)
            return
        if called in _STORING and len(listed) == 2:
            place = self.value(listed[0], state)
            if isinstance(place, Pointer) and not place.extents:
                self._store_at(place.array, place.offset, self.term(listed[1], state), state)
                return
        functions = self.program.functions.get(called.split("<")[0].rpartition("::")[2], [])
        if len(functions) == 1:
            inner = self._entered(functions[0], [self.value(a, state) for a in listed], state)
            self.follow(functions[0].node.child_by_field_name("body"), inner)
            return
        raise Unclear(f"it calls {called}")

    def _entered(self, function: Function, given: list[Value], state: State) -> State:
        self._steps += 20
        if self._steps > MOST_STATEMENTS or len(given) != len(function.parameters):
            raise Unclear(f"it calls {function.name}")
        names: dict[str, Value] = {name: value for (name, _), value in zip(function.parameters, given, strict=True)}
        return State(names, {}, state.conditions)

    def _store(self, target: tree_sitter.Node | None, value: Value, state: State) -> None:
        while target is not None and target.type == "parenthesized_expression":
            target = target.named_children[0]
        if target is None:
            raise Unclear("it assigns to nothing")
        if target.type == "identifier":
            if text_of(target) not in state.names:
                raise Unclear(f"it assigns to {text_of(target)}")
            self._assign(text_of(target), value, state)
            return
        if isinstance(value, Pointer):
            raise Unclear("it stores a pointer")
        if (
            target.type == "subscript_expression"
            and (name := text_of(target.child_by_field_name("argument"))) in self.shared
        ):
            self._store_shared(name, target, value, state)
            return
        place = self._element(target, state)
        self._store_at(place.array, place.offset, value, state)

    def _store_at(self, array: str, place: Term, value: Term, state: State, *, adds: bool = False) -> None:
        if self.is_real(value) and not self.real_arrays.get(array, True):
            raise Unclear(f"it converts a real number to an integer in {array}")
        place = self.global_place(place)
        for at, old in enumerate(self.found.stores):
            if old.array == array and terms.same(old.place, place) and not adds and not old.adds:
                if set(old.conditions) <= set(state.conditions) and old.array == array:  # later stores see this one
                    rest = [c for c in state.conditions if c not in old.conditions]
                    for each in rest:
                        value = ("?", each, value, old.value)
                    self.found.stores[at] = replace(old, value=value)
                    return
                raise Unclear(f"it stores to {array} in several branches")
        self.found.stores.append(Store(array, place, value, state.conditions, adds))

    def _store_shared(self, name: str, target: tree_sitter.Node, value: Term, state: State) -> None:
        indices = target.child_by_field_name("indices")
        place = [self.term(c, state) for c in indices.named_children] if indices else []
        held = _uncast(value)
        if held[0] == "warp" and len(place) == 1 and place[0] in (
            ("//", ("axis", "tx"), terms.number(WARP)), (">>", ("axis", "tx"), terms.number(5))):  # fmt: skip
            self.shared[name] = _Shared(place[0], ("warps", held[1], held[2]))
            return
        if len(place) != 1 or not terms.same(place[0], ("axis", "tx")):
            raise Unclear(f"it exchanges values in {name}")
        for each in state.conditions:
            old = self.shared[name].value
            value = ("?", each, value, UNKNOWN if old is None else old)
        self.shared[name] = _Shared(place[0], value)

    # --- branches ---

    def _if(self, node: tree_sitter.Node, state: State) -> None:  # noqa: C901  (one case for each form)
        condition_node = node.child_by_field_name("condition")
        held = condition_node.child_by_field_name("value") if condition_node is not None else None
        condition = self.term(held if held is not None else condition_node, state)
        known = terms.value(condition)
        yes, no = node.child_by_field_name("consequence"), node.child_by_field_name("alternative")
        if no is not None and no.type == "else_clause":
            no = no.named_children[-1] if no.named_children else None
        if known is not None:
            chosen = yes if known else no
            if chosen is not None:
                self.follow(chosen, state)
            return
        branches = []
        for body, each in ((yes, condition), (no, ("not", condition))):
            branch = State(dict(state.names), dict(state.reals), (*state.conditions, *_parts(each)))
            if body is not None:
                self.follow(body, branch)
            branches.append(branch)
        first, second = branches
        if first.is_over and second.is_over:
            state.is_over = True
        elif first.is_over or second.is_over:
            kept, each = (second, ("not", condition)) if first.is_over else (first, condition)
            state.names, state.conditions = kept.names, (*state.conditions, *_parts(each))
        else:
            for name in state.names:
                a, b = first.names.get(name, UNKNOWN), second.names.get(name, UNKNOWN)
                if a != b:
                    if isinstance(a, Pointer) or isinstance(b, Pointer):
                        raise Unclear(f"the pointer {name} depends on a branch")
                    state.names[name] = ("?", condition, a, b)

    # --- loops ---

    def _for(self, node: tree_sitter.Node, state: State) -> None:
        first, condition = node.child_by_field_name("initializer"), node.child_by_field_name("condition")
        update, body = node.child_by_field_name("update"), node.child_by_field_name("body")
        name, begin = "", UNKNOWN
        if first is not None and first.type == "declaration":
            inner = [d for d in first.children_by_field_name("declarator") if d.type == "init_declarator"]
            if len(inner) == 1:
                name = text_of(inner[0].child_by_field_name("declarator"))
                begin = self.term(inner[0].child_by_field_name("value"), state)
        elif first is not None and first.type == "assignment_expression":
            name, begin = (
                text_of(first.child_by_field_name("left")),
                self.term(first.child_by_field_name("right"), state),
            )
        elif first is None and condition is not None:  # `for (; i < n; i += stride)`
            name = (re.findall(r"[A-Za-z_]\w*", text_of(condition)) or [""])[0]
            old = state.names.get(name, UNKNOWN)
            begin = UNKNOWN if isinstance(old, Pointer) else old
        if begin == UNKNOWN or update is None:
            raise Unclear(f"line {node.start_point[0] + 1} is a loop of another form")
        self._loop(
            name, begin, condition, update, body, state, declares=first is not None and first.type == "declaration"
        )

    def _while(self, node: tree_sitter.Node, state: State) -> None:
        """`while (i < n) { ...; i += stride; }` as a `for` loop."""
        held = node.child_by_field_name("condition")
        condition = (
            held.child_by_field_name("value") if held is not None and held.child_by_field_name("value") else held
        )
        body = node.child_by_field_name("body")
        statements = [n for n in body.named_children if n.type != "comment"] if body is not None else []
        name = (re.findall(r"[A-Za-z_]\w*", text_of(condition)) or [""])[0]
        begin = state.names.get(name, UNKNOWN)
        last = statements[-1].named_children[0] if statements and statements[-1].named_children else None
        if last is None or isinstance(begin, Pointer) or begin == UNKNOWN or not text_of(last).startswith(name):
            raise Unclear(f"line {node.start_point[0] + 1} is a loop of another form")
        self._loop(name, begin, condition, last, body, state, declares=False, skipped=statements[-1])

    def _loop(  # noqa: C901, PLR0912, PLR0915  (one case for each form)
        self, name: str, begin: Term, condition: tree_sitter.Node | None, update: tree_sitter.Node,
        body: tree_sitter.Node | None, state: State, *, declares: bool, skipped: tree_sitter.Node | None = None,
    ) -> None:  # fmt: skip
        if body is not None and (self._joins_block(body, name) or self._joins_warp(body, state)):
            return
        step = self._step(name, update, state)
        operator = text_of(condition.child_by_field_name("operator")) if condition is not None else ""
        if condition is None or operator not in ("<", "<=", ">", ">=", "!="):
            raise Unclear(f"line {update.start_point[0] + 1} is a loop of another form")
        left = condition.child_by_field_name("left")
        if text_of(left) != name:
            raise Unclear(f"line {update.start_point[0] + 1} is a loop of another form")
        end = self.term(condition.child_by_field_name("right"), state)
        if operator == "<=":
            end = ("+", end, terms.number(1))
        if operator in (">", ">="):
            if step != terms.number(-1):
                raise Unclear("it has a loop that counts down")
            low = end if operator == ">=" else ("+", end, terms.number(1))
            begin, end, step = low, ("+", begin, terms.number(1)), terms.number(1)
            if terms.value(begin) is None:
                raise Unclear("it has a loop that counts down")
        count = terms.value(terms.simplified(("-", end, begin)))
        kind = self._strided(begin, step)
        if kind is None and terms.value(step) is None:
            raise Unclear(f"line {update.start_point[0] + 1} is a loop with a stride")
        self._axes += 1
        axis: Term = ("axis", f"k{self._axes}")
        if kind is not None:  # the threads share the elements from 0 on: an axis of its own
            axis = ("axis", f"{kind}{self._axes}")
            place: Term = axis
            extent = end
            start = terms.polynomial(begin)
            offset = {
                a: f
                for a, f in start.items()
                if not any(
                    t in a
                    for t in (
                        ("axis", "tx"),
                        ("axis", "x"),
                        ("axis", "y"),
                        ("axis", "ty"),
                        ("axis", "bx"),
                        ("axis", "by"),
                        ("axis", "z"),
                    )
                )
            }
            if offset:
                place, extent = ("+", axis, terms.term_of(offset)), ("-", end, terms.term_of(offset))
        else:
            whole = terms.value(step) or 1
            place = axis if whole == 1 else ("*", terms.number(whole), axis)
            place = place if terms.value(begin) == 0 else ("+", begin, place)
            extent = (
                terms.simplified(("-", end, begin))
                if whole == 1
                else terms.simplified(("/", ("+", ("-", end, begin), terms.number(whole - 1)), terms.number(whole)))
            )
        touched = _assigned_names(body)
        carried = [n for n in state.names if n in touched and n != name and not isinstance(state.names[n], Pointer)]
        inner = State({**state.names, name: place}, {**state.reals, name: False}, state.conditions)
        for each in carried:
            inner.names[each] = ("carried", each)
        before = len(self.found.stores)
        shared = dict(self.shared)
        steps = self._steps
        try:
            self._loop_body(body, inner, skipped)
            joined = {n: self._joined_over(axis, n, state.names[n], inner.names[n], kind) for n in carried}
            if any("carried" in repr(s) for s in self.found.stores[before:]):
                raise Unclear("a loop stores what it has added up so far")  # noqa: TRY301  (unrolled instead, if it is short)
            if any("carried" in repr(s) for s in self.shared.values()):
                raise Unclear("a loop exchanges what it has added up so far")  # noqa: TRY301  (unrolled instead, if it is short)
        except Unclear:
            if count is None or not 0 <= count <= MOST_UNROLLED or terms.value(step) != 1 or terms.value(begin) is None:
                raise
            del self.found.stores[before:]
            self.shared, self._steps = shared, steps
            for turn in range(int(count)):
                state.names[name] = terms.number(int(terms.value(begin) or 0) + turn)
                state.reals[name] = False
                self._loop_body(body, state, skipped)
            return
        self.found.extents[axis[1]] = terms.simplified(extent)
        for each, value in joined.items():
            state.names[each] = value
        if not declares:
            state.names[name] = UNKNOWN

    def _loop_body(self, body: tree_sitter.Node | None, state: State, skipped: tree_sitter.Node | None) -> None:
        nodes = body.named_children if body is not None and body.type == "compound_statement" else [body]
        for node in nodes:
            if node is not None and node != skipped:
                self._statement(node, state)
                if state.is_over:
                    raise Unclear("a loop returns")

    def _joined_over(self, axis: Term, name: str, old: Value, new: Value, kind: str | None) -> Value:
        """The value of a variable after a loop that joins one more element to it in each turn."""
        carried: Term = ("carried", name)
        if isinstance(old, Pointer) or isinstance(new, Pointer):
            raise Unclear(f"a loop moves the pointer {name}")
        if new == carried or (new[0] == "cast" and new[2] == carried):
            return old
        if carried not in list(terms.leaves(new)):
            raise Unclear(f"a loop leaves its last value in {name}")
        new = _uncast(new)
        for operator in _FORWARD:
            added = _without(new, carried, operator)
            if added is not None and carried not in list(terms.leaves(added)):
                if old == UNKNOWN:
                    raise Unclear(f"{name} has no value before its loop")
                reduced: Term = ("reduce", operator, axis, added)
                if kind is not None and kind != "all":
                    if terms.value(old) not in (0, None) and operator == "+":
                        raise Unclear(f"{name} is not 0 before its loop")
                    return ("partial", operator, kind, old, reduced)
                return self.joined(operator, old, reduced) if terms.value(old) != 0 or operator != "+" else reduced
        raise Unclear(f"a loop changes {name} in another way")

    def _step(self, name: str, update: tree_sitter.Node, state: State) -> Term:
        if update.type == "update_expression" and text_of(update.child_by_field_name("argument")) == name:
            return terms.number(1 if text_of(update.child_by_field_name("operator")) == "++" else -1)
        if update.type == "assignment_expression" and text_of(update.child_by_field_name("left")) == name:
            operator, right = text_of(update.child_by_field_name("operator")), update.child_by_field_name("right")
            if operator == "+=":
                return self.term(right, state)
            if operator == "=":
                moved = self.term(right, _before_turn(state, name))
                rest = terms.polynomial(("-", moved, ("carried", name)))
                if not any("carried" in repr(a) for a in rest):
                    return terms.term_of(rest)
        raise Unclear(f"line {update.start_point[0] + 1} is a loop of another form")

    def _strided(self, begin: Term, step: Term) -> str | None:
        """Which threads share a loop: `tx` of a block, `x` of the grid; `None` for a loop of its own."""
        start = terms.polynomial(begin)
        for axis, stride in (
            ("tx", self.block), ("x", ("*", self.block, terms.name("grid_x"))), ("ty", terms.name("block_y")),
            ("bx", terms.name("grid_x")), ("by", terms.name("grid_y")),
            ("y", ("*", terms.name("block_y"), terms.name("grid_y"))),
        ):  # fmt: skip
            if start.get((("axis", axis),)) == 1 and self._same_length(step, stride):
                return axis
        return None

    def _same_length(self, left: Term, right: Term) -> bool:
        known = {repr(self.block): self.block_value}

        def plain(term: Term) -> Term:
            return terms.replaced(
                term, lambda t: terms.number(size) if (size := known.get(repr(t))) is not None else None
            )

        return terms.same(left, right) or terms.same(plain(left), plain(right))

    # --- sums of a block ---

    def _joins_block(self, body: tree_sitter.Node, name: str) -> bool:
        """Whether a loop is a tree that joins the elements of a shared array; then its element 0 has all of them."""
        statements = list(_effects(body))
        stores = [
            s
            for s in statements
            if s.type == "assignment_expression" and _subscripted(s.child_by_field_name("left")) in self.shared
        ]
        others = [
            s
            for s in statements
            if s not in stores
            and not (s.type == "call_expression" and _QUIET.fullmatch(text_of(s.child_by_field_name("function")) or ""))
        ]
        if (
            not stores
            or len(stores) != 1
            or any(
                o.type not in ("init_declarator", "update_expression")
                and text_of(o).split("=")[0].strip(" <>*/+") != name
                for o in others
            )
        ):
            return False
        store = stores[0]
        shared = _subscripted(store.child_by_field_name("left"))
        operator = self._join_of(store, shared)
        held = self.shared[shared].value
        if operator is None or held is None or name not in text_of(body):
            return False
        self.shared[shared] = _Shared(None, None, self.over_block(operator, held))
        return True

    def _joins_warp(self, body: tree_sitter.Node, state: State) -> bool:
        """Whether a loop joins a variable over the lanes of a warp, by shuffles."""
        statements = [
            s
            for s in _effects(body)
            if not (s.type == "call_expression" and _QUIET.fullmatch(text_of(s.child_by_field_name("function"))))
        ]
        if len(statements) != 1 or statements[0].type != "assignment_expression":
            return False
        left, right = (statements[0].child_by_field_name(f) for f in ("left", "right"))
        name, text = text_of(left), re.sub(r"\s+", "", text_of(right))
        operator = text_of(statements[0].child_by_field_name("operator"))
        shuffled = re.search(rf"__shfl_(down|xor)(_sync)?\((\w+,)?{re.escape(name)},", text)
        held = state.names.get(name, UNKNOWN)
        if not shuffled or isinstance(held, Pointer) or held == UNKNOWN:
            return False
        joins = operator[0] if operator in ("+=", "*=") else _extreme(text)
        if not joins and operator == "=" and text.startswith(f"{name}+"):
            joins = "+"
        if not joins:
            return False
        state.names[name] = self._over_warp(joins, held)
        return True

    def _over_warp(self, operator: str, held: Term) -> Term:
        """A value of each thread, joined over its warp; of the warps' own values, joined over the block."""
        inner = held
        while inner[0] in ("?", "cast"):
            inner = inner[2]
        if inner[0] == "warps" and inner[1] == operator:
            return self.over_block(operator, inner[2])
        if self.block_value is not None and self.block_value <= WARP:
            return self.over_block(operator, held)
        return ("warp", operator, held)

    def _goes_on_joining(self, node: tree_sitter.Node) -> bool:
        """Whether a branch is a step of a tree: all that it stores are joined elements of one shared array."""
        calls = [n for n in descendants(node) if n.type == "call_expression"]
        bodies = [node]
        for call in calls:
            called = self.program.functions.get(text_of(call.child_by_field_name("function")).split("<")[0], [])
            given = call.child_by_field_name("arguments")
            if len(called) == 1 and given is not None and any(text_of(a) in self.shared for a in given.named_children):
                bodies.append(called[0].node)
        renamed = {text_of(a): p for c in calls for a, p in self._passed(c)}
        stores = [
            s
            for b in bodies
            for s in _effects(b)
            if s.type == "assignment_expression" and s.child_by_field_name("left") is not None
        ]
        owners = {_subscripted(s.child_by_field_name("left")) for s in stores}
        names = {a for a in self.shared for o in owners if o in (a, renamed.get(a))}
        if (
            not stores
            or len(names) != 1
            or any(o != next(iter(names)) and o != renamed.get(next(iter(names))) for o in owners)
        ):
            return False
        (name,) = names
        operators = {self._join_of(s, _subscripted(s.child_by_field_name("left"))) for s in stores}
        if len(operators) != 1 or None in operators:
            return False
        held = self.shared[name]
        if held.first is None:
            if held.value is None:
                return False
            self.shared[name] = _Shared(None, None, self.over_block(str(next(iter(operators))), held.value))
        return True

    def _passed(self, call: tree_sitter.Node) -> Iterator[tuple[tree_sitter.Node, str]]:
        called = self.program.functions.get(text_of(call.child_by_field_name("function")).split("<")[0], [])
        given = call.child_by_field_name("arguments")
        if len(called) == 1 and given is not None:
            yield from zip(
                [c for c in given.named_children if c.type != "comment"],
                (n for n, _ in called[0].parameters),
                strict=False,
            )

    def _join_of(self, store: tree_sitter.Node, shared: str) -> str | None:
        operator = text_of(store.child_by_field_name("operator"))
        left, right = store.child_by_field_name("left"), store.child_by_field_name("right")
        if operator in ("+=", "*="):
            return operator[0] if _subscripted(right) == shared else None
        text = re.sub(r"\s+", "", text_of(right))
        own = re.sub(r"\s+", "", text_of(left))
        if operator == "=" and text.count(shared + "[") == 2 and own in text:
            if extreme := _extreme(text):
                return extreme
            if text.startswith(f"{own}+{shared}[") or text.endswith(f"]+{own}"):
                return "+"
        return None

    def over_block(self, operator: str, held: Term) -> Term:
        """A value of each thread, joined over the threads of a block."""
        held = _uncast(held)
        if held[0] == "partial" and held[1] == operator and held[2] == "tx":
            first, reduced = held[3], held[4]
            if operator == "+":
                return reduced  # type: ignore[no-any-return]
            return self.joined(operator, first, reduced)
        if held[0] == "partial" and held[1] == operator == "+" and held[2] == "x" and terms.value(held[3]) == 0:
            return ("partial", "+", "bx", held[3], held[4])  # the blocks share the elements
        return ("reduce", operator, ("axis", "tx"), self._in_block(self.explicit(held)))

    def explicit(self, term: Term) -> Term:
        """A term in which each share of a loop is a sum over the turns of its own thread."""
        shares = {
            "tx": self.block, "x": ("*", self.block, terms.name("grid_x")), "ty": terms.name("block_y"),
            "bx": ("*", self.block, terms.name("grid_x")), "by": terms.name("grid_y"),
            "y": ("*", terms.name("block_y"), terms.name("grid_y")),
        }  # fmt: skip

        def change(t: Term) -> Term | None:
            if t[0] != "partial":
                return None
            _, operator, kind, first, (_, _, axis, inner) = t
            end, stride = self.found.extents[axis[1]], shares[kind]
            self._axes += 1
            turn: Term = ("axis", f"k{self._axes}")
            self.found.extents[turn[1]] = ("call", "ceil_div", end, stride)
            start: Term = ("axis", "x" if kind == "bx" else kind)
            place: Term = ("+", ("*", turn, stride), start)
            value = terms.replaced(inner, lambda u: place if u == axis else None)
            neutral = {"+": 0.0, "*": 1.0, "maximum": -3.4e38, "minimum": 3.4e38}[operator]
            result: Term = ("reduce", operator, turn, ("?", ("<", place, end), value, terms.number(neutral)))
            if kind == "bx":
                result = ("reduce", operator, ("axis", "tx"), self._in_block(result))
            return result if terms.value(first) == 0 and operator == "+" else self.joined(operator, first, result)

        return terms.replaced(term, change)

    def _in_block(self, term: Term) -> Term:
        """A term with the thread's place in the grid as block and place in the block."""
        inside: Term = ("+", ("*", ("axis", "bx"), self.block), ("axis", "tx"))
        return terms.replaced(term, lambda t: inside if t == ("axis", "x") else None)

    # --- expressions ---

    def value(self, node: tree_sitter.Node | None, state: State) -> Value:  # noqa: C901, PLR0912  (one case for each form)
        """A pointer or a number."""
        while node is not None and node.type == "parenthesized_expression":
            node = node.named_children[0]
        if node is None:
            raise Unclear("it lacks an expression")
        match node.type:
            case "identifier" if isinstance(state.names.get(text_of(node)), Pointer):
                return state.names[text_of(node)]
            case "cast_expression":
                inner = self.value(node.child_by_field_name("value"), state)
                if isinstance(inner, Pointer):
                    if re.search(r"[234]\s*\*", text_of(node.child_by_field_name("type"))):
                        raise Unclear("it reads several elements at once")
                    return inner
            case "pointer_expression" if text_of(node).startswith("&"):
                return self._element(node.child_by_field_name("argument"), state)
            case "binary_expression":
                left_node, right_node = node.child_by_field_name("left"), node.child_by_field_name("right")
                operator = text_of(node.child_by_field_name("operator"))
                if operator in ("+", "-"):
                    left = self.value(left_node, state)
                    if isinstance(left, Pointer):
                        return replace(left, offset=(operator, left.offset, self.term(right_node, state)))
                    right = self.value(right_node, state)
                    if isinstance(right, Pointer) and operator == "+":
                        return replace(right, offset=("+", right.offset, left))
            case "subscript_expression" if _subscripted(node) not in self.shared:
                place = self._pointer_at(node, state)
                if place is not None and place.extents:
                    return place
        return self.term(node, state)

    def _element(self, node: tree_sitter.Node | None, state: State) -> Pointer:
        """The pointer to an element."""
        while node is not None and node.type == "parenthesized_expression":
            node = node.named_children[0]
        if node is not None and node.type == "subscript_expression":
            place = self._pointer_at(node, state)
            if place is not None and not place.extents:
                return place
        if node is not None and node.type == "pointer_expression":
            inner = self.value(node.child_by_field_name("argument"), state)
            if isinstance(inner, Pointer) and not inner.extents:
                return inner
        raise Unclear(f"it uses {text_of(node)[:40]}")

    def _pointer_at(self, node: tree_sitter.Node, state: State) -> Pointer | None:
        argument, indices = node.child_by_field_name("argument"), node.child_by_field_name("indices")
        base = (
            self.value(argument, state)
            if argument is not None
            and argument.type
            in (
                "identifier",
                "subscript_expression",
                "parenthesized_expression",
                "binary_expression",
                "cast_expression",
            )
            else None
        )
        if not isinstance(base, Pointer) or indices is None or len(indices.named_children) != 1:
            return None
        index = self.term(indices.named_children[0], state)
        for extent in base.extents:
            index = ("*", index, extent)
        return replace(base, offset=("+", base.offset, index), extents=base.extents[1:])

    def term(self, node: tree_sitter.Node | None, state: State) -> Term:  # noqa: C901, PLR0912  (one case for each form)
        """A number."""
        self._steps += 1
        if self._steps > 10 * MOST_STATEMENTS:
            raise Unclear("it is too long")
        while node is not None and node.type == "parenthesized_expression":
            node = node.named_children[0]
        if node is None:
            raise Unclear("it lacks an expression")
        match node.type:
            case "number_literal" | "true" | "false":
                return terms.read(node)
            case "identifier":
                return self._name(text_of(node), state)
            case "field_expression":
                return self._built_in(text_of(node))
            case "binary_expression":
                operator = text_of(node.child_by_field_name("operator"))
                left = self.term(node.child_by_field_name("left"), state)
                return self.joined(operator, left, self.term(node.child_by_field_name("right"), state))
            case "unary_expression":
                operator = text_of(node.child_by_field_name("operator"))
                inner = self.term(node.child_by_field_name("argument"), state)
                if operator in ("-", "!", "+"):
                    return inner if operator == "+" else ("negative" if operator == "-" else "not", inner)
            case "cast_expression":
                return self._cast(
                    text_of(node.child_by_field_name("type")), self.term(node.child_by_field_name("value"), state)
                )
            case "conditional_expression":
                parts = [
                    self.term(node.child_by_field_name(f), state) for f in ("condition", "consequence", "alternative")
                ]
                known = terms.value(parts[0])
                if known is not None:
                    return parts[1] if known else parts[2]
                return ("?", *parts)
            case "subscript_expression" | "pointer_expression":
                shared = _subscripted(node)
                if shared in self.shared:
                    return self._load_shared(shared, node, state)
                place = self._element(node, state)
                return self._load(place)
            case "call_expression":
                return self._call(node, state)
        raise Unclear(f"line {node.start_point[0] + 1} has a {node.type.replace('_', ' ')}")

    def _load(self, place: Pointer) -> Term:
        at = self.global_place(place.offset)
        for old in self.found.stores:
            if old.array == place.array:
                if terms.same(old.place, at) and not old.adds:
                    return old.value  # what this thread has stored
                raise Unclear(f"it reads other elements of {place.array} than it has stored")
        return ("load", place.array, at)

    def _load_shared(self, name: str, node: tree_sitter.Node, state: State) -> Term:
        indices = node.child_by_field_name("indices")
        place = [self.term(c, state) for c in indices.named_children] if indices else []
        held = self.shared[name]
        if held.value is not None and held.value[0] == "warps":
            return held.value
        if len(place) == 1 and terms.value(place[0]) == 0 and held.first is not None:
            return held.first
        if len(place) == 1 and held.value is not None and terms.same(place[0], ("axis", "tx")):
            return held.value
        if len(place) == 1 and held.first is not None and terms.same(place[0], ("axis", "tx")):
            return ("?", ("==", ("axis", "tx"), terms.number(0)), held.first, UNKNOWN)
        raise Unclear(f"it exchanges values in {name}")

    def _name(self, text: str, state: State) -> Term:
        held = state.names.get(text)
        if isinstance(held, Pointer):
            raise Unclear(f"it uses the address {text}")
        if held is not None:
            if held == UNKNOWN:
                raise Unclear(f"{text} has no known value")
            return held
        if text in self.known:
            return self.known[text]
        if text in _LIMITS:
            return terms.number(_LIMITS[text])
        raise Unclear(f"{text} has no known value")

    def _built_in(self, text: str) -> Term:
        built_in, _, axis = text.partition(".")
        if built_in in ("threadIdx", "blockIdx") and axis in ("x", "y", "z"):
            return ("axis", f"{'t' if built_in == 'threadIdx' else 'b'}{axis}")
        if built_in == "blockDim" and axis in ("x", "y", "z"):
            return self.block if axis == "x" else terms.name(f"block_{axis}")
        if built_in == "gridDim" and axis in ("x", "y", "z"):
            return terms.name(f"grid_{axis}")
        raise Unclear(f"it uses {text}")

    def _cast(self, kind: str, inner: Term) -> Term:
        if kind.strip() == "bool" or "*" in kind:
            raise Unclear(f"it converts to {kind}")
        if terms.is_real_type(kind) or not _INTEGERS.match(kind.removeprefix("const ").strip()):
            return inner if self.is_real(inner) else ("cast", "float", inner)
        if self.is_real(inner):
            raise Unclear("it converts a real number to an integer")
        return inner

    def _call(self, node: tree_sitter.Node, state: State) -> Term:
        function, given = node.child_by_field_name("function"), node.child_by_field_name("arguments")
        listed = [c for c in given.named_children if c.type != "comment"] if given else []
        called = text_of(function)
        if function is not None and function.type == "template_function" and "cast" in called and len(listed) == 1:
            return self._cast(called[called.index("<") + 1 : -1], self.term(listed[0], state))
        called = called.split("<")[0].removeprefix("::").removeprefix("std::")
        if called in _LOADING and len(listed) == 1:
            place = self.value(listed[0], state)
            if isinstance(place, Pointer) and not place.extents:
                return self._load(place)
        functions = self.program.functions.get(called, [])
        if len(functions) == 1:
            inner = self._entered(functions[0], [self.value(a, state) for a in listed], state)
            inner.conditions = ()
            outer, self.returned = self.returned, []
            kept = len(self.found.stores)
            self.follow(functions[0].node.child_by_field_name("body"), inner)
            (result,) = self.returned or (UNKNOWN,)
            self.returned = outer
            if result == UNKNOWN or len(self.found.stores) != kept:
                raise Unclear(f"it calls {called}")
            return result
        macro = self.program.macros.get(called)
        if macro is not None and macro[0] is not None and len(macro[0]) == len(listed):
            bound: dict[str, Term] = dict(zip(macro[0], (self.term(a, state) for a in listed), strict=True))
            return self._expanded(macro[1], bound, 0)
        arguments = [self.term(a, state) for a in listed]
        return self.called(called, arguments)

    def called(self, called: str, arguments: list[Term]) -> Term:  # noqa: C901  (one case for each form)
        """The value of a function of C or CUDA."""
        plain = (
            called[:-1] if called.endswith("f") and called[:-1] in (*_MATH, "fmax", "fmin", "pow", "fma") else called
        )
        if called in _FAST:
            self.found.fast, plain = True, _FAST[called]
        elif called.startswith(("__h", "__f")):
            plain = _OPERATIONS.get(called, called)
        given: tuple[Any, ...] = (plain, *arguments)
        match given:
            case ("fmax" | "max", x, y):
                return ("maximum", x, y)
            case ("fmin" | "min", x, y):
                return ("minimum", x, y)
            case (("pow" | "powf"), x, y):
                return ("**", x, y)
            case ("fma", x, y, z):
                return self.joined("+", self.joined("*", x, y), z)
            case (("+" | "-" | "*" | "/") as operator, x, y):
                return self.joined(operator, x, y)
            case (function, x) if function in _MATH and (self.is_real(x) or function == "abs"):
                return ("call", _MATH[function], x)
            case (function, x) if function in _MATH:
                return ("call", _MATH[function], ("cast", "float", x))
            case (function, x) if _CONVERTING.fullmatch(function):
                return x  # type: ignore[no-any-return]
            case (function, x) if function in self.types or terms.is_real_type(function):
                return self._cast("float", x)
            case (("int" | "unsigned" | "size_t"), x):
                return self._cast("int", x)
        raise Unclear(f"it calls {called}")

    def _expanded(self, body: Term, bound: Mapping[str, Term], depth: int) -> Term:
        """The body of a macro with its arguments."""
        if depth > terms.DEEPEST:
            raise Unclear("a macro is too deep")
        match body:
            case ("number", _):
                return body
            case ("name", text) if text in bound:
                return bound[text]
            case ("name", text):
                return self._name(text, State({}, {}))
            case ("call", function, *given):
                return self.called(function, [self._expanded(t, bound, depth + 1) for t in given])
            case ("cast", kind, inner):
                return self._cast(kind, self._expanded(inner, bound, depth + 1))
            case ("negative" | "not", inner):
                return (body[0], self._expanded(inner, bound, depth + 1))
            case ("?", *parts):
                return ("?", *(self._expanded(t, bound, depth + 1) for t in parts))
            case (str(operator), left, right) if operator in terms.BINARY:
                return self.joined(
                    operator, self._expanded(left, bound, depth + 1), self._expanded(right, bound, depth + 1)
                )
        raise Unclear("it uses a macro of another form")

    def joined(self, operator: str, left: Term, right: Term) -> Term:
        """The value of a binary operator; a division of integers is `//`."""
        if operator in ("maximum", "minimum"):
            return (operator, left, right)
        if operator not in terms.BINARY:
            raise Unclear(f"it uses {operator}")
        if operator == "/" and not self.is_real(left) and not self.is_real(right):
            operator = "//"
        known = terms.calculated(operator, terms.value(left), terms.value(right))
        if known is not None:
            return terms.number(known)
        if operator == "+":
            return self.global_place((operator, left, right)) if not self.is_real(left) else (operator, left, right)
        return (operator, left, right)

    def global_place(self, term: Term) -> Term:
        """A term in which `blockIdx.x * blockDim.x + threadIdx.x` is the thread's place in the grid."""
        if not any(t[0] == "axis" and t[1][0] == "b" for t in terms.leaves(term)):
            return term
        sums = terms.polynomial(term)
        changed = False
        for axis, length in (("x", self.block), ("y", terms.name("block_y")), ("z", terms.name("block_z"))):
            thread: Term = ("axis", f"t{axis}")
            block: Term = ("axis", f"b{axis}")
            for atoms, factor in list(sums.items()):
                if thread not in atoms:
                    continue
                rest = list(atoms)
                rest.remove(thread)
                pair = tuple(sorted((*rest, block, length), key=repr))
                if sums.get(pair) == factor:
                    del sums[pair], sums[atoms]
                elif (
                    axis == "x"
                    and self.block_value
                    and sums.get(tuple(sorted((*rest, block), key=repr))) == factor * self.block_value
                ):
                    del sums[tuple(sorted((*rest, block), key=repr))], sums[atoms]
                else:
                    continue
                whole = tuple(sorted((*rest, ("axis", axis)), key=repr))
                sums[whole] = sums.get(whole, 0) + factor
                changed = True
        return terms.term_of(sums) if changed else term

    def is_real(self, term: Term) -> bool:  # noqa: C901  (one case for each form)
        """Whether a term is a real number; otherwise it is an integer."""
        match term:
            case ("number", known):
                return isinstance(known, float)
            case ("load", array, _):
                return bool(self.real_arrays.get(array, True))
            case ("cast", kind, _):
                return terms.is_real_type(kind)
            case ("real", *_):
                return True
            case ("call", "abs", x):
                return self.is_real(x)
            case ("call", *_):
                return bool(term[1] != "ceil_div")
            case ("?", _, yes, no):
                return self.is_real(yes) or (no != UNKNOWN and self.is_real(no))
            case ("reduce", _, _, inner):
                return self.is_real(inner)
            case ("partial", _, _, first, inner):
                return self.is_real(first) or self.is_real(inner)
            case ("carried", _):
                return False
            case ("<" | ">" | "<=" | ">=" | "==" | "!=" | "&&" | "||" | "not", *_):
                return False
            case (_, *inner):
                return any(isinstance(t, tuple) and self.is_real(t) for t in inner)
        return False


def _before_turn(state: State, name: str) -> State:
    """A state in which one name stands for its value before a loop's turn."""
    return State({**state.names, name: ("carried", name)}, state.reals, state.conditions)


def _extreme(text: str) -> str:
    """The operator of a call such as `fmaxf(...)`; empty if it is none."""
    found = re.match(r"(?:std::)?f?(max|min)[fl]?\(", text)
    return f"{found[1]}imum" if found else ""


def _parts(condition: Term) -> tuple[Term, ...]:
    """The conditions that hold together: `a && b`, and `!(a || b)`."""
    match condition:
        case ("&&", left, right):
            return (*_parts(left), *_parts(right))
        case ("not", ("||", left, right)):
            return (*_parts(("not", left)), *_parts(("not", right)))
        case ("not", ("not", inner)):
            return _parts(inner)
        case ("not", (("<" | "<=" | ">" | ">=" | "==" | "!=") as operator, left, right)):
            opposite = {"<": ">=", ">=": "<", ">": "<=", "<=": ">", "==": "!=", "!=": "=="}[operator]
            return ((opposite, left, right),)
    return (condition,)


def _uncast(term: Term) -> Term:
    while term[0] == "cast" and terms.is_real_type(term[1]):
        term = term[2]
    return term


def _without(term: Term, carried: Term, operator: str) -> Term | None:  # noqa: C901  (one case for each form)
    """`f` of `carried + f`, or of another operator; `None` if the term is not of this form."""
    match term:
        case (own, left, right) if own == operator:
            if _uncast(left) == carried:
                return right  # type: ignore[no-any-return]
            if _uncast(right) == carried:
                return left  # type: ignore[no-any-return]
            inner = _without(left, carried, operator)
            if inner is not None:
                return (operator, inner, right)
            inner = _without(right, carried, operator)
            return (operator, left, inner) if inner is not None else None
        case ("-", left, right) if operator == "+":
            inner = terms.number(0) if _uncast(left) == carried else _without(left, carried, "+")
            if inner == terms.number(0):
                return ("negative", right)
            return ("-", inner, right) if inner is not None else None
        case ("?", (">" | ">=", x, old), y, other) if operator == "maximum":
            return x if (_uncast(old), _uncast(other)) == (carried, carried) and x == y else None
        case ("?", ("<" | "<=", old, x), y, other) if operator == "maximum":
            return x if (_uncast(old), _uncast(other)) == (carried, carried) and x == y else None
        case ("?", ("<" | "<=", x, old), y, other) if operator == "minimum":
            return x if (_uncast(old), _uncast(other)) == (carried, carried) and x == y else None
        case ("?", condition, yes, no) if operator == "+" and _uncast(no) == carried:
            inner = _without(_uncast(yes), carried, "+")
            return ("?", condition, inner, terms.number(0)) if inner is not None else None
        case ("cast", kind, inner) if terms.is_real_type(kind):
            return _without(inner, carried, operator)
    return None


def _assigned_names(body: tree_sitter.Node | None) -> set[str]:
    found = set()
    for node in descendants(body) if body is not None else ():
        if node.type == "assignment_expression":
            left = node.child_by_field_name("left")
            if left is not None and left.type == "identifier":
                found.add(text_of(left))
        elif node.type == "update_expression":
            found.add(text_of(node.child_by_field_name("argument")))
    return found


def _effects(body: tree_sitter.Node) -> Iterator[tree_sitter.Node]:
    """The assignments, declarations and calls in a body that are statements."""
    for node in descendants(body):
        if node.type == "expression_statement":
            yield from node.named_children
        elif node.type == "init_declarator":
            yield node


def _subscripted(node: tree_sitter.Node | None) -> str:
    """The name of the array whose element a node is."""
    return (
        text_of(node.child_by_field_name("argument"))
        if node is not None and node.type == "subscript_expression"
        else ""
    )
