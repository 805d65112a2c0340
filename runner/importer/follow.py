"""What a plain function computes: a kernel or a function of the host, as one store for each output array.

The body is followed statement by statement with symbols for its threads and loops. The result is exact for the forms
below; any other statement raises `Unclear`, so nothing is guessed:

- elements that depend on the thread's place, with guards, branches and functions of one expression;
- loops that add up or take the largest, loops over outputs, and loops that the threads share;
- sums of a block in shared memory, as trees that halve or double their step;
- atomic additions.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import ClassVar

import tree_sitter

from runner.device.syntax import IDENTIFIERS, descendants, text_of
from runner.importer import terms
from runner.importer.read_term import read
from runner.importer.symbols import (
    Found,
    Pointer,
    Setting,
    Shared,
    State,
    Store,
    Unclear,
    Value,
    in_block,
    in_grid,
    parts_of,
    uncast,
)
from runner.importer.terms import UNKNOWN, Term
from runner.importer.values import Values, is_integer_type

_IGNORED = frozenset("comment ; using_declaration static_assert_declaration type_definition alias_declaration".split())
_QUIET = re.compile(r"printf|assert|__sync\w*|__threadfence\w*|fprintf|f?flush")
_JOINING = ("+", "*", "maximum", "minimum")  # how a loop joins values


def follow(body: tree_sitter.Node | None, state: State, setting: Setting) -> Found:
    """What the body of a function does. Raises Unclear if it has a form that is not followed."""
    if body is None:
        raise Unclear("it has no body")
    follower = _Follower(setting)
    follower.block(body, state)
    return follower.found


class _Follower:
    """Follows one function."""

    def __init__(self, setting: Setting) -> None:
        self.setting, self.found = setting, Found()
        self.values = Values(setting, self.found)

    def block(self, body: tree_sitter.Node, state: State) -> None:
        """Follow the statements of a block."""
        for node in body.named_children if body.type == "compound_statement" else [body]:
            if not state.is_over:
                self._statement(node, state)

    def _statement(self, node: tree_sitter.Node, state: State) -> None:
        if node.type in _IGNORED or (node.type == "preproc_call" and text_of(node).lstrip().startswith("#pragma")):
            return
        follow_one = self._BY_TYPE.get(node.type)
        if follow_one is None:
            raise Unclear(f"line {node.start_point[0] + 1} is a {node.type.replace('_', ' ')}")
        follow_one(self, node, state)

    def _return(self, node: tree_sitter.Node, state: State) -> None:
        if node.named_children:
            raise Unclear("it returns a value")
        state.is_over = True

    def _declaration(self, node: tree_sitter.Node, state: State) -> None:
        kind = text_of(node.child_by_field_name("type"))
        for declarator in node.children_by_field_name("declarator"):
            name = next((text_of(n) for n in descendants(declarator) if n.type in IDENTIFIERS), "")
            if "__shared__" in text_of(node)[:400].split():
                self.found.shared[name] = Shared()
            elif declarator.type == "init_declarator" and "[" not in text_of(declarator).split("=")[0]:
                value = self.values.value(read(declarator.child_by_field_name("value")), state)
                is_real = not isinstance(value, Pointer) and self.setting.is_real(value)
                state.reals[name] = is_real if kind == "auto" else not is_integer_type(kind)
                self._assign(name, value, state)
            elif declarator.type == "identifier":
                state.names[name], state.reals[name] = UNKNOWN, not is_integer_type(kind)
            else:
                raise Unclear(f"line {node.start_point[0] + 1} declares more than numbers and pointers")

    def _assign(self, name: str, value: Value, state: State) -> None:
        if not isinstance(value, Pointer):
            is_real = self.setting.is_real(value)
            if is_real and not state.reals.get(name, True):
                raise Unclear(f"it converts a real number to the integer {name}")
            if state.reals.get(name) and not is_real:
                value = ("cast", "float", value)
        state.names[name] = value

    def _effect(self, node: tree_sitter.Node, state: State) -> None:
        """An expression that is a statement."""
        for each in node.named_children:
            if each.type == "call_expression":
                self._call(read(each), state)
            elif each.type == "assignment_expression":
                operator, right = text_of(each.child_by_field_name("operator")), each.child_by_field_name("right")
                self._change(read(each.child_by_field_name("left")), operator[:-1], read(right), state)
            elif each.type == "update_expression":
                operator = text_of(each.child_by_field_name("operator"))
                self._change(read(each.child_by_field_name("argument")), operator[0], terms.number(1), state)
            elif each.type != "comment":
                raise Unclear(f"line {node.start_point[0] + 1} is a {each.type.replace('_', ' ')}")

    def _change(self, target: Term, operator: str, given: Term, state: State) -> None:
        """Follow `target operator= given`; an empty operator is a plain assignment."""
        value = self.values.value((operator, target, given) if operator else given, state)
        match target:
            case ("name", text) if text in state.names:
                self._assign(text, value, state)
            case _ if isinstance(value, Pointer):
                raise Unclear("it stores a pointer")
            case ("index", ("name", array), *places) if array in self.found.shared:
                own = len(places) == 1 and terms.same(self.values.number(places[0], state), ("axis", "tx"))
                if not own or state.conditions:
                    raise Unclear(f"it exchanges values in {array}")
                self.found.shared[array] = Shared(own=value)
            case _:
                self._store(self.values.element(target, state), value, state)

    def _call(self, call: Term, state: State) -> None:
        match call:
            case ("call", function, *_) if _QUIET.fullmatch(function):
                return
            case ("call", "atomicAdd", place, value):
                pointer = self.values.value(place, state)
                if isinstance(pointer, Pointer):
                    self._store(pointer, self.values.number(value, state), state, adds=True)
                    return
        raise Unclear(f"it calls {call[1]}" if call[0] == "call" else "it calls a function of another form")

    def _store(self, pointer: Pointer, value: Term, state: State, *, adds: bool = False) -> None:
        array, place = pointer.array, in_grid(pointer.offset, self.setting.block)
        if self.setting.is_real(value) and not self.setting.reals.get(array, True):
            raise Unclear(f"it converts a real number to an integer in {array}")
        store = Store(array, place, value, state.conditions, adds)
        for at, old in enumerate(self.found.stores):
            if old.array == array and terms.same(old.place, place):
                if adds or old.adds or old.conditions != state.conditions:
                    raise Unclear(f"it stores to {array} in several branches")
                self.found.stores[at] = store
                return
        self.found.stores.append(store)

    def _if(self, node: tree_sitter.Node, state: State) -> None:
        tested = node.child_by_field_name("condition")
        tested = tested.child_by_field_name("value") or tested if tested is not None else None
        condition = self.values.number(read(tested), state)
        yes, no = node.child_by_field_name("consequence"), node.child_by_field_name("alternative")
        if (known := terms.value(condition)) is not None:  # a template argument
            chosen = yes if known else no
            if chosen is not None:
                self.block(chosen, state)
            return
        branches = []
        for body, each in ((yes, condition), (no, ("not", condition))):
            branch = State(dict(state.names), dict(state.reals), (*state.conditions, *parts_of(each)))
            if body is not None:
                self.block(body, branch)
            branches.append(branch)
        self._merge(condition, branches[0], branches[1], state)

    def _else(self, node: tree_sitter.Node, state: State) -> None:
        self.block(node.named_children[-1], state)

    @staticmethod
    def _merge(condition: Term, yes: State, no: State, state: State) -> None:
        """Go on after a branch."""
        if yes.is_over and no.is_over:
            state.is_over = True
        elif yes.is_over or no.is_over:
            kept = no if yes.is_over else yes
            state.names, state.conditions = kept.names, kept.conditions
        else:
            for name in state.names:
                a, b = yes.names.get(name, UNKNOWN), no.names.get(name, UNKNOWN)
                if a != b and (isinstance(a, Pointer) or isinstance(b, Pointer)):
                    raise Unclear(f"the pointer {name} depends on a branch")
                state.names[name] = a if a == b else ("?", condition, a, b)

    # --- loops ---

    def _for(self, node: tree_sitter.Node, state: State) -> None:
        body = node.child_by_field_name("body")
        if body is None or self._joins_block(body):
            return
        name, begin = self._begin(node, state)
        end = self._end(name, node.child_by_field_name("condition"), state)
        step = self._step(name, node.child_by_field_name("update"), state)
        shared = self._shared_by(begin, step)
        axis: Term = ("axis", f"{shared or 'k'}{len(self.found.extents)}")
        place: Term = axis  # threads that share a loop share all elements from 0 on
        if not shared:
            if step != terms.number(1):
                raise Unclear(f"line {node.start_point[0] + 1} is a loop with a stride")
            place = axis if terms.value(begin) == 0 else ("+", begin, axis)
        self.found.extents[axis] = end if shared else terms.simplified(("-", end, begin))
        carried = [n for n in _assigned(body) if n in state.names and n != name]
        inner = State({**state.names, name: place}, {**state.reals, name: False}, state.conditions)
        inner.names |= {each: ("carried", each) for each in carried}
        before = len(self.found.stores)
        self.block(body, inner)
        if inner.is_over or inner.conditions != state.conditions:
            raise Unclear("a loop returns")
        if any("carried" in repr(s) for s in (*self.found.stores[before:], *self.found.shared.values())):
            raise Unclear("a loop stores what it has added up so far")
        for each in carried:
            if shared:
                raise Unclear("the threads share a loop that adds up")
            state.names[each] = self._joined_over(axis, each, state.names[each], inner.names[each])
        state.names[name] = UNKNOWN

    def _begin(self, node: tree_sitter.Node, state: State) -> tuple[str, Term]:
        """The variable of a loop, and its first value."""
        first = node.child_by_field_name("initializer")
        if first is not None and first.type == "declaration":
            first = first.child_by_field_name("declarator")
        if first is None or first.type not in ("init_declarator", "assignment_expression"):
            raise Unclear(f"line {node.start_point[0] + 1} is a loop of another form")
        name = first.child_by_field_name("declarator") or first.child_by_field_name("left")
        held = first.child_by_field_name("value") or first.child_by_field_name("right")
        return text_of(name), self.values.number(read(held), state)

    def _end(self, name: str, condition: tree_sitter.Node | None, state: State) -> Term:
        match read(condition):
            case ("<" | "!=", ("name", text), end) if text == name:
                return self.values.number(end, state)
            case ("<=", ("name", text), end) if text == name:
                return ("+", self.values.number(end, state), terms.number(1))
        raise Unclear("it has a loop of another form")

    def _step(self, name: str, update: tree_sitter.Node | None, state: State) -> Term:
        text = re.sub(r"\s", "", text_of(update))
        if text in (f"{name}++", f"++{name}"):
            return terms.number(1)
        if update is None or not text.startswith(f"{name}+="):
            raise Unclear("it has a loop of another form")
        return self.values.number(read(update.child_by_field_name("right")), state)

    def _shared_by(self, begin: Term, step: Term) -> str:
        """Which threads share a loop: `tx` those of a block, `x` of the grid; empty for a loop of one thread."""
        block, value = self.setting.block, self.setting.block_value
        for axis, stride in (("tx", block), ("x", ("*", block, terms.name("grid_x")))):
            plain = terms.replaced(stride, lambda t: terms.number(value) if value and t == block else None)
            if begin == ("axis", axis) and (terms.same(step, stride) or terms.same(step, plain)):
                return axis
        return ""

    def _joined_over(self, axis: Term, name: str, old: Value, new: Value) -> Value:
        """The value of a variable after a loop that joins one more element to it in each turn."""
        carried: Term = ("carried", name)
        if isinstance(old, Pointer) or isinstance(new, Pointer):
            raise Unclear(f"a loop moves the pointer {name}")
        match uncast(new):
            case (operator, left, right) if operator in _JOINING and carried in (uncast(left), uncast(right)):
                added = right if uncast(left) == carried else left
                if carried not in list(terms.leaves(added)) and old != UNKNOWN:
                    reduced: Term = ("reduce", operator, axis, added)
                    return reduced if operator == "+" and terms.value(old) == 0 else (operator, old, reduced)
        raise Unclear(f"a loop changes {name} in another way")

    def _joins_block(self, body: tree_sitter.Node) -> bool:
        """Whether a loop is a tree that joins the elements of a shared array; then its element 0 has all of them."""
        effects = [n for n in _effects(body) if not _QUIET.match(text_of(n))]
        stores = [n for n in effects if _subscripted(n.child_by_field_name("left")) in self.found.shared]
        if len(stores) != 1 or effects != stores:
            return False
        array, operator = _subscripted(stores[0].child_by_field_name("left")), text_of(stores[0].children[1])
        held = self.found.shared[array].own
        if operator not in ("+=", "*=") or _subscripted(stores[0].child_by_field_name("right")) != array or not held:
            return False
        inside = in_block(uncast(held), self.setting.block)
        self.found.shared[array] = Shared(joined=("reduce", operator[0], ("axis", "tx"), inside))
        return True

    _BY_TYPE: ClassVar[Mapping[str, Callable[[_Follower, tree_sitter.Node, State], None]]] = {
        "compound_statement": block, "declaration": _declaration, "else_clause": _else,
        "expression_statement": _effect, "if_statement": _if, "for_statement": _for,
        "return_statement": _return,
    }  # fmt: skip


def _assigned(body: tree_sitter.Node) -> Iterator[str]:
    """The names of variables that a body changes."""
    names = (n.child_by_field_name("left") or n.child_by_field_name("argument") for n in _effects(body))
    return iter(dict.fromkeys(text_of(n) for n in names if n is not None and n.type == "identifier"))


def _effects(body: tree_sitter.Node) -> Iterator[tree_sitter.Node]:
    """The assignments and calls in a body that are statements."""
    for node in descendants(body):
        if node.type == "expression_statement":
            yield from node.named_children


def _subscripted(node: tree_sitter.Node | None) -> str:
    """The name of the array whose element a node is."""
    is_element = node is not None and node.type == "subscript_expression"
    return text_of(node.child_by_field_name("argument")) if node is not None and is_element else ""
