"""What a kernel's YAML will say: the launch, its arguments and its reference, in terms of the YAML's parameters."""

from __future__ import annotations

import itertools
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from runner.importer import terms
from runner.importer.axes import Geometry
from runner.importer.facts import Facts, plain_type
from runner.importer.launch import launches_of
from runner.importer.launched import USUAL, Launched
from runner.importer.memory import Memory
from runner.importer.naming import Parameters, argument_name
from runner.importer.program import Function
from runner.importer.reference import Answer, Task, find
from runner.importer.resolve import Resolver
from runner.importer.store_text import Reference
from runner.importer.structures import POINTER, Structure, is_real, numbers, parts, read_structures
from runner.importer.terms import Term
from runner.importer.tuning import AXES, Tuning
from runner.kernel.arrays import DTYPE_ALIASES, DTYPES
from runner.kernel.from_yaml import BLANK

C_TYPES: Mapping[str, str] = {d.c_name: d.name for d in DTYPES.values()} | DTYPE_ALIASES | {
    "unsigned int": "uint32", "uint32_t": "uint32", "int32_t": "int32", "size_t": "uint64", "uint64_t": "uint64",
    "int8_t": "int8", "uint8_t": "uint8", "int16_t": "int16", "uint16_t": "uint16", "int64_t": "int64",
    "__nv_fp8_storage_t": "uint8", "long": "int64", "unsigned long": "uint64", "unsigned long long int": "uint64",
    "__nv_bfloat16": "bfloat16", "nv_bfloat16": "bfloat16", "long long int": "int64", "unsigned long int": "uint64",
    "char": "int8",
}  # fmt: skip
QUOTED = f'"{BLANK}"'  # quoted within braces, where YAML gives `?` a meaning
ELEMENT_TYPES = ("SCALAR", "TYPE", "DTYPE", "T")  # usual names of the type of the elements
LEAST_LENGTH = 16  # of a plain number that is taken for a length
OBJECTS = {"cudaTextureObject_t": "role: in, texture: {}", "cudaSurfaceObject_t": "role: inout, surface: true"}
_LENGTH = re.compile("(num_|n_)?(n|size|len|length|count|num|numel|elements|items|parameters|total)")
_AXES = dict.fromkeys(("w", "width", "cols", "columns", "nx"), "cols") | dict.fromkeys(
    ("h", "height", "rows", "ny"), "rows"
)


def _names(array: str, names: Collection[str]) -> bool:
    """Whether names have an array or a part of it."""
    return any(name == array or name.startswith(f"{array}.") for name in names)


@dataclass
class Description:
    """A kernel's facts, and what they give for its YAML."""

    facts: Facts
    tuning: Tuning
    resolver: Resolver
    host: Launched | None = None  # the launch, if the file has one whose block it tells
    grid: list[Term | None] = field(default_factory=list)
    values: dict[int, Term] = field(default_factory=dict)  # of scalars, by position
    sizes: dict[str, Term] = field(default_factory=dict)  # of arrays, in elements
    template: dict[str, Term] = field(default_factory=dict)  # template arguments that are numbers
    opened: set[str] = field(default_factory=set)  # parameters for arguments whose value the file does not tell
    answer: Answer = field(default_factory=lambda: Answer(None, ""))

    def __post_init__(self) -> None:
        kernel = self.facts.kernel
        arrays = [argument_name(i, p.name) for i, p in enumerate(kernel.parameters) if p.pointers]
        self.parameters = Parameters((*arrays, *(c.name for c in self.facts.constants)))
        self.function = self._function()
        self.structures = self._structures()
        self.is_tuned = bool(self.tuning.size or self.tuning.values or self.tuning.block)

    @property
    def reference(self) -> Reference | None:
        """The reference that was read."""
        return self.answer.reference

    def _structures(self) -> dict[str, Structure]:
        """The structures of the kernel's arguments. In an array they have no pointers, which nobody could fill."""
        program, types = self.resolver.program, self.facts.types
        kinds = [(plain_type(p.type), p.pointers) for p in self.facts.kernel.parameters]
        named = dict.fromkeys(k if k in program.structures else types.get(k, k) for k, _ in kinds if k not in C_TYPES)
        found = read_structures(named, program.structures, C_TYPES.get, self.resolver.constant)
        in_arrays = {kind for kind, pointers in kinds if pointers}
        return {
            name: structure
            for name, structure in found.items()
            if name not in in_arrays or all(kind != POINTER for _, kind in parts(name, found))
        }

    def _function(self) -> Function | None:
        """The kernel in the index of its program."""
        node = self.facts.kernel.node
        functions = self.resolver.program.functions.get(self.facts.kernel.name.rpartition("::")[2], ())
        inside = (f for f in functions if node.start_byte <= f.node.start_byte and f.node.end_byte <= node.end_byte)
        return next(inside, None)

    def read_launch(self) -> None:
        """Read the block, the grid, the values of scalars and the sizes of arrays, unless a tuning script has them."""
        kernel = self.facts.kernel
        launches = [] if self.is_tuned else launches_of(self.resolver, kernel.name.rpartition("::")[2])
        fitting = [launch for launch in launches if len(launch.arguments) <= len(kernel.parameters)]
        known = ((launch, launch.sizes(self.facts.dimensions)) for launch in fitting)
        open_block = ((launch, ()) for launch in fitting if len(launch.block) == 1 == self.facts.dimensions)
        found = next(itertools.chain((each for each in known if each[1]), open_block), None)
        if found is None:
            return
        launch, sizes = found
        add = self.parameters.add_constant
        self.host = Launched(launch, self.facts.words, add, sizes or USUAL, is_known=bool(sizes))
        self.grid = self.host.grid()
        for position, p in enumerate(kernel.parameters[: len(self.host.launch.arguments)]):
            if p.pointers:
                elements = self._elements(position, plain_type(p.type))
                if elements is not None:
                    self.sizes[argument_name(position, p.name)] = elements
            elif self.is_number(p.type) and (value := self.host.term(self.host.launch.arguments[position])) is not None:
                self.values[position] = value
        self._open_scalars(len(self.host.launch.arguments))
        self._name_lengths(self.host)

    def _name_lengths(self, host: Launched) -> None:
        """Make a length that the launch passes as a plain number a parameter, also in shapes and the grid."""
        for position, p in enumerate(self.facts.kernel.parameters):
            value = terms.value(self.values.get(position, terms.UNKNOWN))
            sized = [name for name, size in self.sizes.items() if terms.value(size) == value]
            if isinstance(value, int) and value >= LEAST_LENGTH and sized:
                length = terms.name(self.parameters.add_constant(p.name, value, f"in {host.launch.where}"))
                self.values[position] = length
                self.sizes |= dict.fromkeys(sized, length)
                blocks = [terms.value(part) if part is not None else None for part in self.grid]
                if len(host.sizes) == 1 and blocks == [-(-value // host.sizes[0])]:
                    self.grid = [("call", "ceil_div", length, host.block[0])]

    def _open_scalars(self, passed: int) -> None:
        """Give each scalar that the launch does not tell its default argument, or a parameter."""
        defaults = [default for _, default in self.function.parameters] if self.function else []
        for position, p in enumerate(self.facts.kernel.parameters):
            if p.pointers or p.type == "void" or position in self.values or not self.is_number(p.type):
                continue
            if passed <= position < len(defaults) and terms.value(defaults[position]) is not None:
                self.values[position] = defaults[position]
                continue
            own = self.parameters.add_constant(argument_name(position, p.name), BLANK, f"the argument {p.name}")
            self.values[position] = terms.name(own)
            self.opened.add(own)

    def _elements(self, position: int, kind: str) -> Term | None:
        """The number of elements that the host allocates for a pointer, in the YAML's terms."""
        memory = self.memory(position)
        if memory is None or memory.elements is None or self.host is None:
            return None
        if memory.elements[0] != "bytes":
            return self.host.term(memory.elements)
        if kind in self.structures:
            return None
        inner = self.host.term(memory.elements[1])
        dtype = C_TYPES.get(self.facts.types.get(kind, kind), "float32")
        return None if inner is None else terms.simplified(("/", inner, terms.number(DTYPES[dtype].itemsize)))

    def memory(self, position: int) -> Memory | None:
        """What the launch passes for a pointer."""
        held = self.host.launch.memory if self.host else ()
        return held[position] if position < len(held) else None

    # --- the reference ---

    def find_reference(self) -> None:
        """Look for the reference, with the roles that the code shows."""
        if self.function is None or self.is_tuned:
            return
        self.answer = find(self._task(self.function), self.resolver)
        if self.reference is not None:
            for name in filter(self.tells, self.opened):
                self.parameters.by_name[name].default = 1
                self.parameters.by_name[name].note += "; any value?"
            self.sizes = {**{name.partition(".")[0]: n for name, n in self.reference.elements.items()}, **self.sizes}

    def tells(self, name: str) -> bool:
        """Whether the reference holds for any value of a parameter: it was read from the kernel, or depends on it."""
        if self.reference is None:
            return False
        words = (word for text in self.reference.expressions.values() for word in re.findall(r"\w+", text))
        return self.answer.is_own or name in words

    def _task(self, function: Function) -> Task:
        kernel, geometry = self.facts.kernel, self._geometry()
        pointers = {i: p for i, p in enumerate(kernel.parameters) if p.pointers == 1}
        arrays = {p.name: argument_name(i, p.name) for i, p in pointers.items()}
        memory = {argument_name(i, p.name): self.memory(i) for i, p in pointers.items()}
        dtypes = {arrays[p.name]: self.dtype(plain_type(p.type)) for p in pointers.values()}
        aliases = {a for a, kind in self.facts.types.items() if C_TYPES.get(kind, "").startswith(("float", "bfloat"))}
        return Task(
            function=function,
            arrays=arrays | {c.name: c.name for c in self.facts.constants},
            hosts={m.name: name for name, m in memory.items() if m is not None and m.name},
            outputs=frozenset(
                a + part
                for p, a in arrays.items()
                if self.facts.roles[p] != "in"
                for part, _ in parts(dtypes[a], self.structures)
            ),
            values={kernel.parameters[i].name: v for i, v in self.values.items()} | self.template,
            reals={name: is_real(dtype) for name, dtype in dtypes.items()}
            | {a + part: real for a, dtype in dtypes.items() for part, real in numbers(dtype, self.structures) if part},
            geometry=geometry,
            block_value=self.host.sizes[0] if self.host else None,
            types=frozenset(aliases | self.typenames),
            constants={name: terms.name(own) for (name, _), own in self.host.names.items()} if self.host else {},
        )

    @property
    def typenames(self) -> set[str]:
        """The kernel's template arguments that are types."""
        return {t.split()[1] for t in self.facts.kernel.template if re.match(r"(typename|class)\s+\w", t)}

    def _geometry(self) -> Geometry:
        """The block and the grid. Without a launch, they are those that the YAML proposes."""
        if self.host is not None:
            known = tuple(part for part in self.grid if part is not None)
            return Geometry(self.host.block, known if len(known) == len(self.grid) else (), self._sizes_of_parts())
        for position, p in enumerate(self.facts.kernel.parameters):
            if not p.pointers and (length := self.length(p.name, None)):
                self.values[position] = terms.name(length)
        self._open_scalars(len(self.facts.kernel.parameters))
        pairs = (("size", "block"),) if self.facts.dimensions == 1 else (("cols", "block_x"), ("rows", "block_y"))
        grid = tuple(("call", "ceil_div", terms.name(n), terms.name(b)) for n, b in pairs)
        return Geometry(tuple(terms.name(b) for _, b in pairs), grid, self.sizes)

    def _sizes_of_parts(self) -> dict[str, Term]:
        """The numbers of elements of arrays, and of each part of a structure."""
        found = dict(self.sizes)
        for position, p in enumerate(self.facts.kernel.parameters):
            name = argument_name(position, p.name)
            if p.pointers and name in self.sizes:
                dtype = self.dtype(plain_type(p.type))
                found |= {name + part: self.sizes[name] for part, _ in numbers(dtype, self.structures)}
        return found

    # --- arguments ---

    def is_null(self, position: int) -> bool:
        """Whether the launch passes a null pointer, and other pointers are real."""
        passed = self.host.launch.arguments if self.host else ()
        places = [i for i, p in enumerate(self.facts.kernel.parameters[: len(passed)]) if p.pointers]
        nulls = {i for i in places if passed[i] in (("null",), terms.number(0))}
        return position in nulls and len(nulls) < len(places)

    def is_read(self, name: str) -> bool | None:
        """Whether the reference reads an array; `None` without a reference."""
        return None if self.reference is None else _names(name, self.reference.reads)

    def role(self, position: int, name: str) -> str:
        """The role of a pointer."""
        role = self.tuning.roles.get(position) or self.facts.roles[self.facts.kernel.parameters[position].name]
        if self.reference is None or role == "in":
            return role
        if not _names(name, self.reference.expressions):
            return "in" if self.answer.is_own else role
        memory = self.memory(position)
        is_zeroed = memory is not None and memory.fill == "zeros" and not self.answer.is_own
        return "inout" if self.is_read(name) or (is_zeroed and role == "inout") else "out"

    def outputs(self) -> list[str]:
        """What a reference has an expression for: the arrays that the kernel writes, or their parts."""
        listed = enumerate(self.facts.kernel.parameters)
        named = [(i, argument_name(i, p.name), p) for i, p in listed if p.pointers and not self.is_null(i)]
        arrays = [(name, self.dtype(plain_type(p.type))) for i, name, p in named if self.role(i, name) != "in"]
        surfaces = (p.name for p in self.facts.kernel.parameters if p.type.split()[-1] == "cudaSurfaceObject_t")
        behind = (name for name, role, _ in self.behind() if role != "in")
        return [a + part for a, dtype in arrays for part, _ in parts(dtype, self.structures)] + [*surfaces, *behind]

    def behind(self) -> list[tuple[str, str, str]]:
        """The arrays that only pointers in structures refer to: name, role and dtype."""
        passed = ((i, p) for i, p in enumerate(self.facts.kernel.parameters) if not p.pointers)
        held = ((argument_name(i, p.name), self.structures.get(plain_type(p.type))) for i, p in passed)
        members = ((name, m) for name, structure in held if structure for m in structure.members)
        return [(f"{name}_{m.name}", m.role, m.target) for name, m in members if m.type == POINTER and m.length == 1]

    @property
    def hides_output(self) -> bool:
        """Whether an argument is neither a number nor a structure of them: the kernel may write through it."""
        values = (p.type for p in self.facts.kernel.parameters if not p.pointers and p.type != "void")
        return any(plain_type(kind) not in self.structures and self._is_foreign(plain_type(kind)) for kind in values)

    def _is_foreign(self, kind: str) -> bool:
        return self.facts.types.get(kind, kind) not in C_TYPES and kind.rsplit(maxsplit=1)[-1] not in OBJECTS

    def only_length(self) -> str:
        """The one scalar that is called like a length; empty if there are several."""
        parameters = self.facts.kernel.parameters
        passed = ((parameters[i].name, v) for i, v in self.values.items() if v[0] == "name")
        lengths = [str(v[1]) for name, v in passed if _LENGTH.fullmatch(name.lower())]
        return lengths[0] if len(lengths) == 1 else ""

    def length(self, name: str, value: float | None) -> str:
        """The expression of a scalar that is a length of the problem, such as `size` or `cols`; empty for others."""
        size, word = self.tuning.size, name.lower()
        if value is not None and value not in size:
            return ""
        if max(self.facts.dimensions, len(size)) == 1:
            return "size" if _LENGTH.fullmatch(word) or value is not None else ""
        return _AXES.get(word) or (("cols", "rows", "")[size.index(int(value))] if value is not None else "")

    def is_number(self, kind: str) -> bool:
        """Whether an argument of a type is passed as a number."""
        return self.dtype(plain_type(kind)) != QUOTED and plain_type(kind) not in self.structures

    def dtype(self, kind: str) -> str:
        """The dtype of a C++ type; `???` if it is unknown. Adds the parameter `dtype` if the type depends on it."""
        if kind in self.structures:
            return kind
        kind = self.facts.types.get(kind, kind)
        if kind in C_TYPES:
            return C_TYPES[kind]
        template = {(re.findall(r"\w+", t.partition("=")[0]) or [""])[-1] for t in self.facts.kernel.template}
        is_parameter = kind in template or kind in ELEMENT_TYPES
        return self.parameters.add("dtype", "float32") if is_parameter else QUOTED

    def expression(self, text: str) -> str:
        """A tuner's expression with the names that the YAML gives its parameters."""
        names = {name: f"block_{axis}" for name, axis in zip(self.tuning.block, AXES, strict=False)}
        text = re.sub(r"[A-Za-z_]\w*", lambda match: names.get(match.group(), match.group()), text)
        return re.sub(r"(?<!/)/(?!/)", "//", text)  # integer division
