"""Write what a function stores as a reference of the YAML: an expression over whole arrays for each output."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from runner.importer import terms
from runner.importer.array_text import ATOM, Arrays, ArrayText, Text, bracketed
from runner.importer.axes import Geometry, axes_in, equal, free, guarded, row_major, say
from runner.importer.symbols import Found, Store, Unclear
from runner.importer.terms import Term

LONGEST = 900  # characters of a reference that a person still reads
MOST_AXES = 3  # of a shape
_UNGUARDED = "the kernel does not check its threads' places against the end"


@dataclass(frozen=True)
class Reference:
    """The expressions, and what they need of the rest of the YAML."""

    expressions: Mapping[str, str]
    shapes: Mapping[str, tuple[str, ...]]
    elements: Mapping[str, Term]
    reads: frozenset[str]  # arrays of which the expressions read elements
    constraints: Mapping[str, str]


def write_reference(found: Found, geometry: Geometry) -> Reference:
    """The reference for what a function stores. Raises Unclear if the language cannot say it plainly."""
    if not found.stores:
        raise Unclear("it stores nothing")
    # First the shapes in which arrays are used, and how far they are read; then the text for them.
    first = _Writer(found, geometry, {}, {})
    first.write()
    used = {array: next(iter(views)) for array, views in first.arrays.views.items() if len(views) == 1}
    shapes = {
        array: shape
        for array, shape in used.items()
        if len(shape) <= (1 if "." in array else MOST_AXES) and shape != ("",)  # a part has the axes of its array
    }
    stored = {store.array for store in found.stores}
    lengths = {array: length for array, length in first.arrays.elements.items() if array not in stored}
    writer = _Writer(found, geometry, shapes, lengths)
    expressions = writer.write()
    for name, text in expressions.items():
        if len(text) > LONGEST:
            raise Unclear(f"the expression for {name} would have {len(text)} characters")
    arrays = writer.arrays
    return Reference(expressions, shapes, arrays.elements, frozenset(arrays.reads), writer.constraints)


@dataclass
class _Writer:
    """Writes one reference with given shapes."""

    found: Found
    geometry: Geometry
    shapes: Mapping[str, tuple[str, ...]]
    lengths: Mapping[str, Term]  # of arrays, in elements
    constraints: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        known = self.geometry.elements
        self.arrays = Arrays(self.shapes, known.keys(), {**self.lengths, **known}, {}, set())

    def write(self) -> dict[str, str]:
        """The expression of each array."""
        names = dict.fromkeys(store.array for store in self.found.stores)
        return {name: self._array([s for s in self.found.stores if s.array == name]) for name in names}

    def _array(self, stores: Sequence[Store]) -> str:
        """One store, or several that fill one part of the array after another."""
        if len(stores) == 1:
            return self._store(stores[0])
        name, size, lengths, parts = stores[0].array, self.arrays.elements.pop(stores[0].array, None), [], {}
        for store in stores:
            offset = {a: f for a, f in terms.polynomial(store.place).items() if not axes_in(a)}
            text = self._store(replace(store, place=terms.simplified(("-", store.place, terms.term_of(offset)))))
            lengths.append(self.arrays.elements.pop(name))
            starts = (i for i in range(len(stores)) if equal(terms.term_of(offset), ("*", terms.number(i), lengths[0])))
            parts[next(starts, -1)] = text
        whole: Term = ("*", terms.number(len(stores)), lengths[0])
        self.arrays.elements[name] = size or whole
        in_order = sorted(parts) == list(range(len(stores))) and all(equal(n, lengths[0]) for n in lengths)
        if not in_order or not equal(self.arrays.elements[name], whole):
            raise Unclear(f"it stores to {name} at several places")
        self.arrays.views[name] = {("",)}
        return f"concatenate({', '.join(parts[i] for i in sorted(parts))})"

    def _store(self, store: Store) -> str:
        store = _of_one_thread(store)
        lengths, conditions = guarded(store.conditions, self.found.extents)
        for axis in axes_in((store.place, store.value, *conditions)) - set(lengths):
            lengths[axis], constraint = self.geometry.launched(axis[1])
            if constraint:
                self.constraints[constraint] = _UNGUARDED
        for axis in axes_in((store.place, store.value, *conditions)):
            if axes_in((lengths[axis],)):
                raise Unclear("the end of a loop depends on another one")
        order, total = row_major(store.place, lengths)
        if not {a for t in (store.value, *conditions) for a in free(t)} <= set(order):
            raise Unclear(f"several threads store to the same element of {store.array}")
        self.arrays.elements.setdefault(store.array, total)
        writer = ArrayText(self.arrays, tuple(order), lengths, in_branch=bool(conditions))
        text = writer.whole(store.value)
        if conditions or store.adds:
            original = writer.text(("load", store.array, store.place))[0]
            if store.adds:
                text = (f"{original} + {bracketed(text, 6)}", 6)
            if conditions:
                masks = " & ".join(f"({writer.text(c)[0]})" for c in conditions)
                text = (f"where({masks}, {text[0]}, {original})", ATOM)
        return self._placed(store.array, text, [lengths[a] for a in order], total)

    def _placed(self, name: str, text: Text, dims: Sequence[Term], total: Term) -> str:
        """The expression for a whole array, of which a store fills the first `total` elements."""
        size, shape = self.arrays.elements[name], tuple(map(say, dims)) or ("1",)
        if not equal(size, total):
            flat = text[0] if len(dims) == 1 else f"reshape({text[0]}, {say(total)})"
            self.arrays.viewed(name, (say(size),))
            self.arrays.reads.add(name)
            return f"concatenate({flat}, {name}[{say(total)}:])"
        self.arrays.viewed(name, shape)
        if len(shape) > 1 and self.shapes.get(name) != shape:
            return f"reshape({text[0]}, {say(size)})"
        return text[0]


def _of_one_thread(store: Store) -> Store:
    """A store without conditions such as `threadIdx.x == 0`: its terms have the number for the axis."""
    used = axes_in((store.place,))
    for each in store.conditions:
        match each:
            case ("==", ("axis", _) as axis, ("number", _) as held) if axis not in used:
                conditions = tuple(_substituted(c, axis, held) for c in store.conditions if c != each)
                place, value = (_substituted(t, axis, held) for t in (store.place, store.value))
                store = replace(store, place=place, value=value, conditions=conditions)
    return replace(store, conditions=tuple(c for c in store.conditions if not terms.value(c)))


def _substituted(term: Term, axis: Term, held: Term) -> Term:
    """A term with a number for an axis; a sum over the axis keeps it."""
    if term == axis:
        return held
    if term[0] == "reduce" and term[2] == axis:
        return term
    return tuple(_substituted(t, axis, held) if isinstance(t, tuple) else t for t in term)
