"""Write what a function stores as a reference of the YAML: an expression over whole arrays.

Each store has axes: the threads' places and the loops' turns that its element's number depends on. Its value becomes an
array with these axes; loads that cover an array in order become the array itself, other loads become `take`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from runner.importer import terms
from runner.importer.forms import Reader, Store, Unclear
from runner.importer.terms import UNKNOWN, Term

LONGEST = 900  # characters of a reference that a person still reads
_LEVELS = {"|": 2, "^": 3, "&": 4, "<": 1, "<=": 1, ">": 1, ">=": 1, "==": 1, "!=": 1, "<<": 5, ">>": 5, "+": 6, "-": 6,
           "*": 7, "/": 7, "//": 7, "%": 7, "@": 7, "**": 9}  # fmt: skip
_ATOM = 10
MOST_AXES = 3  # of a shape
_REDUCTIONS = {"+": "sum", "*": "prod", "maximum": "max", "minimum": "min"}


@dataclass(frozen=True)
class Geometry:
    """The launch and the arrays, in terms of the YAML's names."""

    block: tuple[Term, ...]  # the block's lengths: `block`, or `block_x`, `block_y`, ...
    grid: tuple[Term, ...]
    elements: Mapping[str, Term]  # of arrays whose allocation the file has


@dataclass
class Reference:
    """The expressions, and what they need of the rest of the YAML."""

    expressions: dict[str, str] = field(default_factory=dict)
    shapes: dict[str, tuple[str, ...]] = field(default_factory=dict)
    elements: dict[str, Term] = field(default_factory=dict)
    reads: set[str] = field(default_factory=set)  # arrays of which the expressions read elements
    constraints: dict[str, str] = field(default_factory=dict)


@dataclass
class _Axes:
    """The axes of an expression, outermost first, with their lengths."""

    names: tuple[Term, ...]
    lengths: Mapping[Term, Term]

    def with_(self, axis: Term) -> _Axes:
        return _Axes((*self.names, axis), self.lengths)


class Writer:
    """Writes the reference of one function, which `reader` has followed."""

    def __init__(self, reader: Reader, geometry: Geometry) -> None:
        self.reader, self.found, self.geometry = reader, reader.found, geometry
        self.reference = Reference()
        self.views: dict[str, set[tuple[str, ...]]] = {}  # the shapes in which each array is read or written
        self.shapes: dict[str, tuple[str, ...]] = {}
        self.elements = dict(geometry.elements)
        self._in_branch = 0
        self._conditions: tuple[Term, ...] = ()

    def write(self) -> Reference:
        """The reference. Raises Unclear if the language cannot say it plainly."""
        if not self.found.stores:
            raise Unclear("it stores nothing")
        for shapes in (False, True):  # first the shapes in which arrays are used, then the text for them
            if shapes:
                self.shapes = {
                    a: next(iter(v))
                    for a, v in self.views.items()
                    if len(v) == 1 and len(*v) <= MOST_AXES and v != {("",)}
                }
            self.reference = Reference()
            for array in dict.fromkeys(store.array for store in self.found.stores):
                self._array([store for store in self.found.stores if store.array == array])
        for name, text in self.reference.expressions.items():
            if len(text) > LONGEST:
                raise Unclear(f"the expression for {name} would have {len(text)} characters")
        self.reference.shapes, self.reference.elements = self.shapes, self.elements
        return self.reference

    def _array(self, stores: list[Store]) -> None:
        """The expression of one array: one store, or several that fill one part of it after another."""
        name = stores[0].array
        if len(stores) == 1:
            self._store(stores[0])
            return
        parts: list[tuple[int, str]] = []
        length: Term | None = None
        for store in stores:
            sums = terms.polynomial(store.place)
            offset = {
                a: f for a, f in sums.items() if not any(t[0] == "axis" for each in a for t in terms.leaves(each))
            }
            place = terms.term_of({a: f for a, f in sums.items() if a not in offset})
            kept, self.elements = self.elements, {**self.elements}
            self.elements.pop(name, None)
            self._store(Store(name, place, store.value, store.conditions, store.adds))
            own = self.elements[name]
            self.elements = {**self.elements, **({name: kept[name]} if name in kept else {})}
            if name not in kept:
                self.elements.pop(name, None)
            if length is not None and not self._equal(length, own):
                raise Unclear(f"it stores to {name} at several places")
            length = own
            at = next(
                (i for i in range(len(stores)) if self._equal(terms.term_of(offset), ("*", terms.number(i), own))), -1
            )
            parts.append((at, self.reference.expressions.pop(name)))
        if sorted(at for at, _ in parts) != list(range(len(stores))) or length is None:
            raise Unclear(f"it stores to {name} at several places")
        whole: Term = ("*", terms.number(len(stores)), length)
        if not self._equal(self.elements.setdefault(name, whole), whole):
            raise Unclear(f"it stores to a part of {name}")
        self.views[name] = {("",)}
        self.reference.expressions[name] = f"concatenate({', '.join(text for _, text in sorted(parts))})"

    def _store(self, store: Store) -> None:  # noqa: C901, PLR0912, PLR0915  (one case for each form)
        place, value, conditions = store.place, store.value, list(store.conditions)
        used = {t for t in terms.leaves(place) if t[0] == "axis"}
        for each in list(conditions):  # `if (threadIdx.x == 0)`
            match each:
                case ("==", ("axis", _) as axis, ("number", _) as held) if axis not in used:
                    conditions.remove(each)
                    place, value = (_substituted(t, axis, held) for t in (place, value))
                    conditions = [_substituted(c, axis, held) for c in conditions]
        conditions = [c for c in conditions if not terms.value(c)]
        value = _resolved(value, tuple(conditions))
        if not store.adds:
            value = self.reader.explicit(value)
        lengths, conditions = self._lengths(conditions, place, value)
        if store.adds:
            value = terms.replaced(
                value,
                lambda t: (
                    t[4]
                    if t[0] == "partial" and t[1] == "+" and terms.value(t[3]) == 0 and not _shares(t[2]) & used
                    else None
                ),
            )
            value = self.reader.explicit(value)
            free = _free(value) | {a for c in conditions for a in _free(c)}
            for each in conditions:
                value = ("?", each, value, terms.number(0.0))
            conditions = []
            for axis in sorted(free - used, key=repr, reverse=True):
                value = ("reduce", "+", axis, value)
        order, total = self._row_major(place, lengths)
        for axis in _free(value) | {a for c in conditions for a in _free(c)}:
            if axis not in order:
                raise Unclear(f"several threads store to the same element of {store.array}")
        dims = [lengths[a] for a in order]
        name = store.array
        size = self.elements.setdefault(name, total)
        axes = _Axes(tuple(order), lengths)
        self._conditions = tuple(conditions)
        text, level = self._whole(value, axes)
        original = self._load_text(("load", name, place), axes)[0] if conditions or store.adds else ""
        if conditions:
            self._in_branch += 1
            masks = " & ".join(f"({self.text(c, axes)[0]})" for c in conditions)
            text, level = f"where({masks}, {self.text(value, axes)[0]}, {original})", _ATOM
            self._in_branch -= 1
            self.reference.reads.add(name)
        if store.adds:
            text, level = f"{original} + {_bracketed(text, level, 6)}", 6
            self.reference.reads.add(name)
        is_whole = self._equal(size, total)
        shape = tuple(self._say(d) for d in dims) or ("1",)
        if not is_whole:
            flat = text if len(dims) == 1 else f"reshape({text}, {self._say(total)})"
            first = self._say(total)
            text = f"concatenate({flat}, {name}[{first}:])"
            self.views.setdefault(name, set()).add((self._say(size),))
            self.reference.reads.add(name)
        else:
            self.views.setdefault(name, set()).add(shape)
            if len(shape) > 1 and self.shapes.get(name) != shape:
                text = f"reshape({text}, {self._say(size)})"
        self.reference.expressions[name] = text

    # --- axes ---

    def _lengths(self, conditions: list[Term], place: Term, value: Term) -> tuple[dict[Term, Term], list[Term]]:
        """The length of each axis; a guard sets it, else the launch. Returns the conditions that are left."""
        lengths: dict[Term, Term] = {("axis", name): length for name, length in self.found.extents.items()}
        left = []
        for each in conditions:
            bound = self._bound(each)
            if bound is None:
                left.append(each)
            elif (bound[0] in lengths and bound[0][1] in self.found.extents) or bound[0] in lengths:
                if not self._equal(lengths[bound[0]], bound[1]):
                    left.append(each)
            else:
                lengths[bound[0]] = bound[1]
        for axis in {t for term in (place, value, *left) for t in terms.leaves(term) if t[0] == "axis"}:
            if axis not in lengths:
                lengths[axis] = self._launched(axis[1])
            if any(t[0] == "axis" for t in terms.leaves(lengths[axis])):
                raise Unclear("the end of a loop depends on another one")
        return lengths, [c for c in left if not _always(c)]

    def _bound(self, condition: Term) -> tuple[Term, Term] | None:
        """The axis and its length of a condition such as `i < n`."""
        match condition:
            case ("<" | "<=", left, right) | (">" | ">=", right, left):
                sums = terms.polynomial(("-", right, left))
                if condition[0] in ("<=", ">="):
                    sums[()] = sums.get((), 0) + 1
                axes = [
                    (atoms, factor)
                    for atoms, factor in sums.items()
                    if any(t[0] in ("axis", "load") for a in atoms for t in terms.leaves(a))
                ]
                if len(axes) == 1 and axes[0][1] == -1 and len(axes[0][0]) == 1 and axes[0][0][0][0] == "axis":
                    del sums[axes[0][0]]
                    return axes[0][0][0], terms.term_of({a: f for a, f in sums.items() if f})
        return None

    def _launched(self, axis: str) -> Term:
        """The number of threads or blocks along an axis."""
        place = "xyz".index(axis[-1]) if axis[-1] in "xyz" else -1
        if place < 0 or len(self.geometry.block) == 0 or len(self.geometry.grid) == 0:
            raise Unclear("the launch is not known")
        block = self.geometry.block[place] if place < len(self.geometry.block) else terms.number(1)
        grid = self.geometry.grid[place] if place < len(self.geometry.grid) else terms.number(1)
        if axis[0] == "t":
            return block
        if axis[0] == "b":
            return grid
        match grid:
            case (("//" | "/"), count, divisor) | ("call", "ceil_div", count, divisor):
                if terms.same(divisor, block):
                    text = self._say(count)
                    if not (text.isdigit() and terms.value(divisor)):
                        self.reference.constraints[f"{_in_product(text)} % {self._say(block)} == 0"] = (
                            "the kernel does not check its threads' places against the end"
                        )
                    return count  # type: ignore[no-any-return]
        return terms.simplified(("*", grid, block))

    def _row_major(self, place: Term, lengths: Mapping[Term, Term]) -> tuple[list[Term], Term]:
        """The axes of an element's number, outermost first, and their product."""
        rest = terms.polynomial(place)
        order: list[Term] = []
        total: Term = terms.number(1)
        while rest:
            for atoms, factor in rest.items():
                axis = next((a for a in atoms if a[0] == "axis"), None)
                if axis is None or axis in order:
                    continue
                stride = list(atoms)
                stride.remove(axis)
                if self._equal(terms.term_of({tuple(stride): factor}), total) or self._is_only(rest, axis, total):
                    break
            else:
                raise Unclear("the elements that it stores to are not in order")
            for each in [a for a in rest if axis in a]:
                del rest[each]
            order.insert(0, axis)
            total = lengths[axis] if terms.value(total) == 1 else ("*", lengths[axis], total)
        return order, total

    def _is_only(self, sums: terms.Polynomial, axis: Term, stride: Term) -> bool:
        """Whether all terms with an axis together are the axis times a stride, such as `i * (n + 2)`."""
        own: terms.Polynomial = {}
        for atoms, factor in sums.items():
            if axis in atoms:
                rest = list(atoms)
                rest.remove(axis)
                if any(a[0] == "axis" for a in rest):
                    return False
                own[tuple(rest)] = factor
        return self._equal(terms.term_of(own), stride)

    def _equal(self, left: Term, right: Term) -> bool:
        if terms.same(left, right) or terms.same(terms.simplified(left), terms.simplified(right)):
            return True
        return terms.same(_undivided(left), _undivided(right))

    # --- text ---

    def _say(self, term: Term) -> str:
        """An expression over parameters."""
        try:
            return terms.yaml_text(terms.replaced(terms.simplified(term), _without_ceil_div))
        except ValueError as e:
            raise Unclear(str(e)) from None

    def _whole(self, value: Term, axes: _Axes) -> tuple[str, int]:
        """The text of a value that has the length of every axis."""
        value = _uncast(value)
        free = _free(value)
        dims = ", ".join(self._say(axes.lengths[a]) for a in axes.names)
        if not axes.names:
            if value[0] == "reduce" and not any(t[0] == "reduce" for t in terms.leaves(value[3])):
                text, _ = self.text(value, axes)
                if text.endswith(", axis=0)"):
                    return text[: -len(", axis=0)")] + ", keepdims=True)", _ATOM
            return f"reshape({self.text(value, axes)[0]}, 1)", _ATOM
        if not free:
            return f"full({self.text(value, axes)[0]}, {dims})", _ATOM
        text, level = self.text(value, axes)
        if free >= set(axes.names):
            return text, level
        return f"{_bracketed(text, level, 6)} + full(0, {dims})", 6

    def text(self, term: Term, axes: _Axes) -> tuple[str, int]:  # noqa: C901, PLR0912  (one case for each form)
        """The text of a value, and how tightly its last operator binds."""
        match term:
            case ("number", known):
                text = terms.number_text(known)
                return (text, _ATOM) if known >= 0 else (text, 8)
            case ("name", text):
                return text, _ATOM
            case ("axis", _):
                return self._axis_text(term, axes), _ATOM
            case ("cast", _, inner):
                return self.text(inner, axes)
            case ("load", *_):
                return self._load_text(term, axes)
            case ("reduce", operator, axis, inner):
                return self._reduced(operator, axis, inner, axes)
            case ("negative", inner):
                text, level = self.text(inner, axes)
                return f"-{_bracketed(text, level, 9)}", 8
            case ("not", inner):
                text, level = self.text(inner, axes)
                return f"{_bracketed(text, level, 2)} == 0", 1
            case ("?", condition, yes, no):
                if UNKNOWN in (yes, no):
                    raise Unclear("a variable has no value in a branch")
                test, _ = self.text(condition, axes)
                self._in_branch += 1
                text = f"where({test}, {self.text(yes, axes)[0]}, {self.text(no, axes)[0]})"
                self._in_branch -= 1
                return text, _ATOM
            case ("&&" | "||", left, right):
                sign = "&" if term[0] == "&&" else "|"
                self._in_branch += 1
                parts = [self.text(t, axes) for t in (left, right)]
                self._in_branch -= 1
                return f" {sign} ".join(_bracketed(*p, 5) for p in parts), _LEVELS[sign]
            case ("maximum" | "minimum", left, right):
                return f"{term[0]}({self.text(left, axes)[0]}, {self.text(right, axes)[0]})", _ATOM
            case ("call", "ceil_div", above, below):
                (a, la), (b, lb) = self.text(above, axes), self.text(below, axes)
                return f"-(-{_bracketed(a, la, 9)} // {_bracketed(b, lb, 8)})", 8
            case ("call", function, inner):
                return f"{function}({self.text(inner, axes)[0]})", _ATOM
            case (str(operator), left, right) if operator in _LEVELS:
                own = _LEVELS[operator]
                (a, la), (b, lb) = self.text(left, axes), self.text(right, axes)
                if operator == "**":
                    return f"{_bracketed(a, la, _ATOM)} ** {_bracketed(b, lb, 9)}", 9
                return f"{_bracketed(a, la, max(own, 2))} {operator} {_bracketed(b, lb, own + 1)}", own
        raise Unclear(f"{term[0]} has no form in a reference")

    def _axis_text(self, axis: Term, axes: _Axes) -> str:
        if axis not in axes.names:
            raise Unclear("a value depends on a thread that does not store it")
        length = self._say(axes.lengths[axis])
        if len(axes.names) == 1:
            return f"arange({length})"
        places = [length if each == axis else "1" for each in axes.names]
        while places[0] == "1" and len(places) > 1:  # NumPy adds leading axes
            places.pop(0)
        return f"arange({length})" if len(places) == 1 else f"reshape(arange({length}), {', '.join(places)})"

    def _load_text(self, load: Term, axes: _Axes) -> tuple[str, int]:
        _, name, place = load
        self.reference.reads.add(name)
        used = [a for a in axes.names if a in set(terms.leaves(place))]
        if any(t[0] == "axis" and t not in axes.names for t in terms.leaves(place)):
            raise Unclear("a value depends on a thread that does not store it")
        if not used and not any(t[0] == "load" for t in terms.leaves(place)):
            self.views.setdefault(name, set()).add(("",))
            return f"{name}[{self._say(place)}]", _ATOM
        try:
            order, total = self._row_major(place, axes.lengths)
        except Unclear:
            return self._taken(name, place, axes), _ATOM
        size = self.elements.setdefault(name, total)
        if not self._equal(size, total):
            return self._taken(name, place, axes), _ATOM
        return self._view(name, order, used, axes)

    def _view(self, name: str, order: Sequence[Term], used: Sequence[Term], axes: _Axes) -> tuple[str, int]:
        """An array that is read in order, with its axes where the expression has them."""
        dims = tuple(self._say(axes.lengths[a]) for a in order)
        self.views.setdefault(name, set()).add(dims)
        text = name if len(dims) == 1 or self.shapes.get(name) == dims else f"reshape({name}, {', '.join(dims)})"
        if list(order) != list(used):
            if len(order) > 2:
                text = f"transpose({text}, ({', '.join(str(list(order).index(a)) for a in used)}))"
            else:
                text = f"transpose({text})"
        first = axes.names.index(used[0])
        if list(axes.names[first:]) != list(used):
            places = [self._say(axes.lengths[a]) if a in used else "1" for a in axes.names[first:]]
            text = f"reshape({text}, {', '.join(places)})"
        return text, _ATOM

    def _taken(self, name: str, place: Term, axes: _Axes) -> str:
        """Elements at any places: a slice if they follow each other, else `take`."""
        self.views.setdefault(name, set()).add(("",))
        rest = terms.polynomial(place)
        if len(axes.names) == 1 and rest.get((axes.names[0],)) == 1 and not self._in_branch:
            del rest[(axes.names[0],)]
            if not any(t[0] in ("axis", "load") for a in rest for each in a for t in terms.leaves(each)):
                begin, length = terms.term_of(rest), axes.lengths[axes.names[0]]
                first = "" if terms.value(begin) == 0 else self._say(begin)
                return f"{name}[{first}:{self._say(('+', begin, length))}]"
        index, _ = self.text(terms.term_of(rest), axes)
        if self._in_branch or self._conditions:
            if name not in self.elements:
                raise Unclear(f"the size of {name} is not known")
            index = f"clip({index}, 0, {self._say(('-', self.elements[name], terms.number(1)))})"
        return f"take({name}, {index}, axis=0)"

    def _reduced(self, operator: str, axis: Term, inner: Term, axes: _Axes) -> tuple[str, int]:
        lengths = dict(axes.lengths)
        if axis not in lengths:
            lengths[axis] = self.found.extents[axis[1]] if axis[1] in self.found.extents else self._launched(axis[1])
        if any(t[0] == "axis" for t in terms.leaves(lengths[axis])):
            raise Unclear("the end of a loop depends on another one")
        outer = _Axes(axes.names, lengths)
        inner = _uncast(inner)
        if operator == "+" and not self._in_branch and (product := self._product(axis, inner, outer)):
            return product
        if axis not in _free(inner):
            text, level = self.text(inner, outer)
            if operator != "+":
                return text, level
            return f"{_bracketed(text, level, 7)} * {self._say(lengths[axis])}", 7
        text, _ = self.text(inner, outer.with_(axis))
        return f"{_REDUCTIONS[operator]}({text}, axis={len(axes.names)})", _ATOM

    def _product(self, axis: Term, inner: Term, axes: _Axes) -> tuple[str, int] | None:
        """A sum of products of two arrays as `a @ b`; `None` if it is none."""
        match inner:
            case ("*", left, right):
                left, right = _uncast(left), _uncast(right)
                if left[0] != "load" or right[0] != "load" or len(axes.names) > 2 or not axes.names:
                    return None
            case _:
                return None
        known = {*axes.names, axis}
        try:
            orders = [self._row_major(t[2], axes.lengths) for t in (left, right)]
        except (Unclear, KeyError):
            return None
        if not all(
            set(o) <= known and axis in o and self._equal(self.elements.setdefault(t[1], n), n)
            for t, (o, n) in zip((left, right), orders, strict=True)
        ):
            return None
        sides = [(t, o) for t, (o, _) in zip((left, right), orders, strict=True)]
        for (a, a_order), (b, b_order) in (sides, sides[::-1]):
            outer = axes.names
            if set(a_order) == {outer[0], axis} and set(b_order) == {axis, *outer[1:]}:
                texts = [self._matrix(t, o, wanted, axes) for t, o, wanted in (
                    (a, a_order, [outer[0], axis]), (b, b_order, [axis, *outer[1:]]))]  # fmt: skip
                return " @ ".join(texts), 7
        return None

    def _matrix(self, load: Term, order: Sequence[Term], wanted: Sequence[Term], axes: _Axes) -> str:
        self.reference.reads.add(load[1])
        dims = tuple(self._say(axes.lengths[a]) for a in order)
        self.views.setdefault(load[1], set()).add(dims)
        text = (
            load[1] if len(dims) == 1 or self.shapes.get(load[1]) == dims else f"reshape({load[1]}, {', '.join(dims)})"
        )
        return text if list(order) == list(wanted) else f"transpose({text})"


def _without_ceil_div(term: Term) -> Term | None:
    """`ceil_div(a, b)`, which references lack, as `-(-a // b)`."""
    if term[:2] != ("call", "ceil_div"):
        return None
    above, below = (terms.replaced(t, _without_ceil_div) for t in term[2:])
    return ("negative", ("//", ("negative", above), below))


def _bracketed(text: str, level: int, least: int) -> str:
    return f"({text})" if level < least else text


def _in_product(text: str) -> str:
    return text if text.replace("_", "").isalnum() else f"({text})"


def _uncast(term: Term) -> Term:
    while term[0] == "cast":
        term = term[2]
    return term


def _free(term: Term) -> set[Term]:
    """The axes that a value depends on, without those that it is summed over."""
    if term[0] == "axis":
        return {term}
    inner = {a for each in term[1:] if isinstance(each, tuple) for a in _free(each)}
    return inner - {term[2]} if term[0] == "reduce" else inner


def _substituted(term: Term, axis: Term, held: Term) -> Term:
    """A term with a number for an axis; a sum over the axis keeps it."""
    if term == axis:
        return held
    if term[0] == "reduce" and term[2] == axis:
        return term
    changed = tuple(_substituted(t, axis, held) if isinstance(t, tuple) else t for t in term)
    if changed[0] == "?" and (known := terms.value(changed[1])) is not None:
        return changed[2] if known else changed[3]
    return changed


def _resolved(term: Term, conditions: tuple[Term, ...]) -> Term:
    """A value where some conditions hold: their branches are taken."""
    if term[0] == "?" and all(each in conditions for each in _both(term[1])):
        return _resolved(term[2], conditions)
    return tuple(_resolved(t, conditions) if isinstance(t, tuple) else t for t in term)


def _undivided(term: Term) -> Term:
    """A term in which `a // b * b` is `a`: a constraint of the YAML says that grids divide without a rest."""
    result: Term = terms.number(0)
    for atoms, factor in terms.polynomial(term).items():
        left = list(atoms)
        product: Term = terms.number(factor)
        for atom in atoms:
            if atom[0] == "//" and atom[2] in left and atom in left:
                left.remove(atom)
                left.remove(atom[2])
                product = ("*", product, atom[1])
        for atom in left:
            product = ("*", product, atom)
        result = ("+", result, product)
    return result


def _always(condition: Term) -> bool:
    """Whether a condition holds for every element: `axis >= 0`."""
    match condition:
        case (">=", ("axis", _), ("number", 0)) | (">", ("axis", _), ("number", -1)):
            return True
    return False


def _shares(kind: str) -> set[Term]:
    """The axes of the threads that share a loop."""
    return {("axis", kind), *((("axis", "tx"), ("axis", "bx"), ("axis", "x")) if kind == "x" else ())}


def _both(condition: Term) -> tuple[Term, ...]:
    return (*_both(condition[1]), *_both(condition[2])) if condition[0] == "&&" else (condition,)
