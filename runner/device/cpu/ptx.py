"""Inline PTX for the CPU device: supported `asm` statements become calls of native/ptx.h.

An unsupported instruction becomes a call that fails to compile with a message at its line, if the kernel reaches it.
"""

from __future__ import annotations

import ast
import re
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import ClassVar

HEADER = "simt_ptx.h"

ASM = re.compile(r"\b(?:asm|__asm__|__asm)\s*(?:\b(?:volatile|__volatile__)\s*)?\(")
_LITERAL = re.compile(r'"(?:\\.|[^"\\\n])*"', re.DOTALL)
_OPERAND = re.compile(
    r'\s*(?:\[\s*(?P<name>\w+)\s*\]\s*)?"(?P<constraint>[^"]*)"\s*(?P<expression>\(.*\))\s*', re.DOTALL
)


def rewrite_ptx(text: str, visible: str) -> str:
    """Replace the `asm` statements. `visible` has blank comments and literals. Lines keep their numbers."""
    edits: list[tuple[int, int, str]] = []
    for match in ASM.finditer(visible):
        if edits and match.start() < edits[-1][1]:
            continue
        end = _closing(visible, match.end() - 1)
        if end is None:  # no parenthesis behind it is balanced either; the compiler says so
            break
        inner = text[match.end() : end], visible[match.end() : end]
        lines = "".join(re.findall(r"\\?\n", text[match.start() : end]))
        edits.append((match.start(), end + 1, f"{_statement(*inner)}{' ' * bool(lines)}{lines}"))
    return edited(text, edits)


def edited(text: str, edits: Iterable[tuple[int, int, str]]) -> str:
    """The text with some of its parts replaced: begin, end and the new text of each, in order."""
    pieces, last = [], 0
    for begin, end, new in edits:
        pieces += [text[last:begin], new]
        last = end
    return "".join(pieces) + text[last:]


def _closing(text: str, start: int) -> int | None:
    """The offset of the parenthesis that closes the one at `start`; `None` if it is unbalanced."""
    depth = 0
    for offset in range(start, len(text)):
        depth += (text[offset] == "(") - (text[offset] == ")")
        if depth == 0:
            return offset
    return None


def _statement(inner: str, visible: str) -> str:
    inner = re.sub(r"\\\n", " \n", inner)
    visible = re.sub(r"\\\n", " \n", visible)
    sections = list(split_outside_brackets(inner, visible, ":"))
    hidden = [_LITERAL.sub(lambda match: " " * len(match.group()), s) for s in sections]
    try:
        lists = (split_outside_brackets(s, h, ",") for s, h in zip(sections[1:3], hidden[1:3], strict=True))
        operands = [operand for operands in lists for operand in operands if operand.strip()]
        lines = Translation(operands, is_basic=len(sections) == 1).lines(sections[0])
        return f"({{ {' '.join(lines)} }})"
    except (UnsupportedError, IndexError, KeyError, ValueError):
        code = "".join(_LITERAL.findall(sections[0])).replace("\\n", " ").replace('""', "")
        message = " ".join(code.split()).strip('"').replace("\\", "").replace('"', "'")[:60]
        name = f"simt_no_ptx_{zlib.crc32(message.encode())}"
        return f"({{ SIMT_NOT_HERE(\"inline PTX '{message}' cannot run\" SIMT_GPU_ONLY) void {name}(); {name}(); }})"


_INSTRUCTION = re.compile(r"(?:@(?P<guard>!?\w+)\s+)?(?P<name>[a-z][\w.:]*)\s*(?P<operands>.*)", re.DOTALL)

_TYPES = {
    **{f"{letter}{bits}": f"uint{bits}_t" for letter in "bu" for bits in (8, 16, 32, 64)},
    **{f"s{bits}": f"int{bits}_t" for bits in (8, 16, 32, 64)},
    "f32": "float", "f64": "double", "pred": "bool",
    "f16": "uint16_t", "f16x2": "uint32_t", "bf16": "uint16_t", "bf16x2": "uint32_t",
}  # fmt: skip
_SPECIAL = {
    **{f"{name}.{axis}": f"{variable}.{axis}" for axis in "xyz" for name, variable in (
        ("tid", "threadIdx"), ("ntid", "blockDim"), ("ctaid", "blockIdx"), ("nctaid", "gridDim"))},
    "laneid": "::simt::current_lane->number", "warpid": "::simt::current_lane->warp->number", "smid": "0u",
    "lanemask_eq": "::simt::bit(::simt::current_lane->number)",
    "lanemask_lt": "(::simt::bit(::simt::current_lane->number) - 1)",
    "lanemask_le": "(2 * ::simt::bit(::simt::current_lane->number) - 1)",
    "lanemask_gt": "~(2 * ::simt::bit(::simt::current_lane->number) - 1)",
    "lanemask_ge": "~(::simt::bit(::simt::current_lane->number) - 1)",
    "clock": "uint32_t(clock64())", "clock64": "clock64()", "globaltimer": "clock64()",
}  # fmt: skip
# By an instruction's name without its type, and without what does not change its result here.
_ARITHMETIC = {
    "add": "{0} + {1}", "sub": "{0} - {1}", "mul": "{0} * {1}", "mul.lo": "{0} * {1}", "mad.lo": "{0} * {1} + {2}",
    "and": "{0} & {1}", "or": "{0} | {1}", "xor": "{0} ^ {1}", "not": "~{0}", "neg": "-{0}", "div": "{0} / {1}",
    "min": "{0} < {1} ? {0} : {1}", "max": "{0} < {1} ? {1} : {0}", "abs": "{0} < 0 ? -{0} : {0}",
    "shl": "{1} < 8 * sizeof({0}) ? {0} << {1} : 0", "shr": "{1} < 8 * sizeof({0}) ? {0} >> {1} : {0} < 0 ? -1 : 0",
    "popc": "__builtin_popcountll({0})", "brev": "__brev({0})",
    "clz": "__clz({0})", "prmt": "__byte_perm({0}, {1}, {2})", "lop3": "::simt::ptx::lop3({0}, {1}, {2}, {3})",
    "bfind": "{0} ? 31 - __clz({0}) : -1",
}  # fmt: skip
_FLOAT_ARITHMETIC = {
    **{name: _ARITHMETIC[name] for name in ("add", "sub", "mul", "div", "neg")},
    "min": "fmin({0}, {1})", "max": "fmax({0}, {1})", "abs": "fabs({0})", "fma": "fma({0}, {1}, {2})",
    "ex2": "exp2f({0})", "lg2": "log2f({0})", "rcp": "1 / {0}", "rsqrt": "1 / sqrt({0})", "sqrt": "sqrt({0})",
    "sin": "sinf({0})", "cos": "cosf({0})", "tanh": "tanhf({0})",
}  # fmt: skip
# Of `cvt`: the rounding of a float, and of an integer; the formats of 16 bits.
_ROUNDINGS = {name: f"::simt::Rounding::{long}" for name, long in (
    ("rn", "nearest_even"), ("rz", "towards_zero"), ("rm", "down"), ("rp", "up"))}  # fmt: skip
_TO_INTEGER = {"rni": "nearbyint", "rzi": "trunc", "rmi": "floor", "rpi": "ceil"}
_HALVES = {
    **dict.fromkeys(("f16", "f16x2"), "::simt::Binary16"), **dict.fromkeys(("bf16", "bf16x2"), "::simt::Bfloat16"),
}  # fmt: skip
_HALF_ARITHMETIC = {
    "add": "a + b", "sub": "a - b", "mul": "a * b", "neg": "-a", "fma": "::simt::fused_multiply_add(a, b, c)",
}  # fmt: skip
# Of `ld`, `st`, `atom` and `red`: GCC's name of the order, and in whose sight the access is atomic.
_ORDERS = {"relaxed": "RELAXED", "acquire": "ACQUIRE", "release": "RELEASE", "acq_rel": "ACQ_REL"}
_SCOPES = {"cta": "block", "cluster": "block", "gpu": "device", "sys": "device"}
_UPDATES = ("add", "and", "or", "xor", "min", "max", "inc", "dec", "exch")
_COMPARISONS = {"eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">="}
_IGNORED = re.compile(
    r"\.(?:rn|approx|ftz|full|volatile|relaxed|acquire|release|weak|cta|gpu|sys|nc|ca|cg|cs|cv|lu|wb|wt)\b|\.L[12]::\w+"
)
_NO_EFFECT = ("prefetch", "discard", "griddepcontrol", "nanosleep")


class UnsupportedError(Exception):
    """An unsupported instruction, or an unsupported form of one."""


def split_outside_brackets(
    text: str, masked: str, separator: str, brackets: tuple[str, str] = ("([{", ")]}")
) -> Iterator[str]:
    """Split `text` at the separators outside brackets.

    Separators and brackets are those of `masked`: `text` with spaces for what is not searched, such as literals.
    """
    depth, begin = 0, 0
    for offset, character in enumerate(masked):
        depth += (character in brackets[0]) - (character in brackets[1])
        if character == separator and depth == 0:
            yield text[begin:offset]
            begin = offset + 1
    yield text[begin:]


def _access(full: str) -> str:
    """The memory order and scope of an instruction's access; empty for a weak access."""
    words = full.split(".")
    if "volatile" in words:
        return "::simt::ptx::Volatile"
    order = next((word for word in words if word in _ORDERS), "")
    return _atomic_access(order, next((word for word in words if word in _SCOPES), "gpu")) if order else ""


def _atomic_access(order: str, scope: str) -> str:
    return f"::simt::ptx::Atomic<__ATOMIC_{_ORDERS[order]}, ::simt::AtomicScope::{_SCOPES[scope]}>"


class Translation:
    """The instructions of one statement."""

    def __init__(self, operands: Sequence[str], *, is_basic: bool) -> None:
        matches = [match for operand in operands if (match := _OPERAND.fullmatch(operand))]
        if len(matches) < len(operands):
            raise UnsupportedError
        self._operands = [" ".join(match["expression"].split()) for match in matches]
        self._names = {match["name"]: " ".join(match["expression"].split()) for match in matches if match["name"]}
        self._escape = "%" if is_basic else "%%"
        self._registers: set[str] = set()

    def lines(self, code: str) -> Iterator[str]:
        """The C++ of each instruction; `code` are C++ string literals."""
        if _LITERAL.sub("", code).strip():
            raise UnsupportedError  # a part of it is a macro
        code = "".join(map(ast.literal_eval, _LITERAL.findall(code)))
        code = re.sub(r"//[^\n]*|/\*.*?\*/", " ", code, flags=re.DOTALL).replace(self._escape, "$")
        for part in code.split(";"):
            statement = part.lstrip("{} \t\n").rstrip()
            instruction = _INSTRUCTION.fullmatch(statement)
            if statement.startswith(".reg"):
                _, kind, names = statement.replace(",", " ").split(None, 2)
                for name in names.split():
                    self._registers.add(name)
                    yield f"{_TYPES[kind[1:]]} simt_r_{name} = 0;"
            elif instruction:
                text = instruction["operands"]
                operands = [o.strip() for o in split_outside_brackets(text, text, ",")]
                cxx = self._instruction(instruction["name"], operands)
                if guard := instruction["guard"]:
                    cxx = f"if ({'!' * guard.startswith('!')}{self._value(guard.lstrip('!'))}) {{ {cxx} }}"
                yield cxx
            elif statement:
                raise UnsupportedError

    def _value(self, operand: str) -> str:
        if operand in self._registers:
            return f"simt_r_{operand}"
        if operand[:1] in ("$", "%") and operand[1:] in _SPECIAL:  # nvcc takes a single per cent sign, too
            return _SPECIAL[operand[1:]]
        if operand.startswith("%["):
            return self._names[operand[2:-1]]
        if operand.startswith("%"):
            return self._operands[int(operand[1:])]
        if re.fullmatch(r"0[fF][0-9a-fA-F]{8}", operand):
            return f"::simt::bit_cast<float>(0x{operand[2:]}u)"
        if re.fullmatch(r"-?(?:0x[0-9a-fA-F]+|\d+)U?", operand):
            return f"({operand.rstrip('U')})"
        raise UnsupportedError

    def _get(self, kind: str, operand: str) -> str:
        return f"::simt::ptx::get<{_TYPES[kind]}>({self._value(operand)})"

    def _set(self, operand: str, value: str) -> str:
        return f"::simt::ptx::set({self._value(operand)}, {value});"

    def _list(self, operand: str) -> list[str]:
        return [o.strip() for o in operand.strip("{} ").split(",")]

    def _address(self, operand: str, *, shared: bool) -> str:
        base, _, offset = operand.strip("[] ").partition("+")
        space = "shared" if shared else "generic"
        return f"::simt::ptx::{space}({self._value(base.strip())}, {self._value(offset.strip()) if offset else 0})"

    def _instruction(self, full: str, operands: list[str]) -> str:
        """The C++ of an instruction. Raises `UnsupportedError` or `KeyError` if it is not supported."""
        plain = _IGNORED.sub("", full)
        name, _, kind = plain.rpartition(".")
        form = next((make for begin, make in self._FORMS.items() if full.startswith(begin)), None)
        if form:
            return form(self, full, operands)
        if name == "selp":
            return self._set(
                operands[0],
                f"{self._value(operands[3])} ? {self._get(kind, operands[1])} : {self._get(kind, operands[2])}",
            )
        if kind in _HALVES:
            return self._halves(name, kind, operands)
        values = [self._get("u32" if name in ("shl", "shr") and i else kind, o) for i, o in enumerate(operands[1:])]
        table = _FLOAT_ARITHMETIC if kind.startswith("f") else _ARITHMETIC
        return self._set(operands[0], f"{_TYPES[kind]}({table[name].format(*values)})")

    def _halves(self, name: str, kind: str, operands: list[str]) -> str:
        """The C++ of arithmetic of one or two halves, each rounded once."""
        bits = [self._get(kind, operand) for operand in operands[1:]]
        call = f"[](double a, double b = 0, double c = 0) {{ (void)b, (void)c; return {_HALF_ARITHMETIC[name]}; }}"
        half = f"::simt::ptx::halves<{_HALVES[kind]}, {_TYPES[kind]}>"
        return self._set(operands[0], f"{half}({', '.join((call, *bits))})")

    def _barrier(self, full: str, operands: list[str]) -> str:
        if full == "bar.warp.sync":
            return f"__syncwarp({self._get('u32', operands[0])});"
        waits = re.fullmatch(r"(?:bar|barrier)(?:\.cta)?\.(sync|arrive)(?:\.aligned)?", full)
        if not waits or not 1 <= len(operands) <= 2 or (waits[1] == "arrive" and len(operands) == 1):
            raise UnsupportedError
        numbers = ", ".join(self._get("u32", o) for o in operands)
        return f"::simt::ptx::bar_{waits[1]}{'_of' * (len(operands) == 2)}({numbers});"

    def _fence(self, full: str, operands: list[str]) -> str:
        _ = operands
        of_block = re.search(r"\.(?:cta|cluster)\b", full) and ".proxy" not in full
        return "__threadfence_block();" if of_block else "__threadfence();"

    def _compare(self, full: str, operands: list[str]) -> str:
        _, relation, kind = full.split(".")
        left, right = (self._get(kind, o) for o in operands[1:])
        return f"{self._value(operands[0])} = {left} {_COMPARISONS[relation]} {right};"

    def _convert(self, full: str, operands: list[str]) -> str:
        """The C++ of `cvt`. A float becomes an integer of its range, whether there is `.sat` or not."""
        if full.startswith("cvt.pack."):
            return self._pack(full, operands)
        _, *modes, to, source = full.split(".")
        rounding = next((mode for mode in modes if mode in _ROUNDINGS or mode in _TO_INTEGER), "")
        if set(modes) - {rounding, "ftz", "sat"} or source.endswith("x2"):
            raise UnsupportedError
        values = [self._get(source, o) for o in operands[1:]]
        if source in _HALVES:
            values = [f"{_HALVES[source]}::decode({value})" for value in values]
        if to in _HALVES:
            halves = [f"::simt::encode<{_HALVES[to]}>({value}, {_ROUNDINGS[rounding]})" for value in reversed(values)]
            return self._set(operands[0], " | ".join(f"uint32_t({h}) << {16 * i}" for i, h in enumerate(halves)))
        (value,) = values
        if "f" in source and "f" not in to:
            whole = f"{_TO_INTEGER[rounding]}({value})"
            return self._set(operands[0], f"::simt::ptx::to_integer<{_TYPES[to]}>({whole})")
        if rounding not in ("", "rn") or ("sat" in modes and ("f" in to or source.endswith("64"))):
            raise UnsupportedError
        saturated = f"::simt::saturate<{_TYPES[to]}>(double({value}))"
        return self._set(operands[0], saturated if "sat" in modes else f"{_TYPES[to]}({value})")

    def _pack(self, full: str, operands: list[str]) -> str:
        """The C++ of `cvt.pack.sat`: two integers, saturated, in the low bits, and of a third one the rest."""
        found = re.fullmatch(r"cvt\.pack\.sat\.([us](8|16))\.s32(\.b32)?", full)
        if not found or len(operands) != (4 if found[3] else 3) or (found[2] == "8") != bool(found[3]):
            raise UnsupportedError
        kind, bits = _TYPES[found[1]], int(found[2])
        high, low = (f"uint{bits}_t(::simt::saturate<{kind}>(double({self._get('s32', o)})))" for o in operands[1:3])
        rest = f" | {self._get('u32', operands[3])} << 16" if found[3] else ""
        return self._set(operands[0], f"(uint32_t({high}) << {bits} | {low}{rest})")

    def _load(self, full: str, operands: list[str]) -> str:
        kind = full.rpartition(".")[2]
        values, access = self._list(operands[0]), _access(full)
        reader = f"ReadBy<{access}, " if access else "Read<"
        read = f"::simt::ptx::{reader}{_TYPES[kind]}, {len(values)}> simt_read({self._typed(full, operands[1])});"
        return "{ " + " ".join([read, *(self._set(v, f"simt_read.values[{i}]") for i, v in enumerate(values))]) + " }"

    def _store(self, full: str, operands: list[str]) -> str:
        if re.match(r"st\.(?:async|bulk)\b", full):
            raise UnsupportedError
        kind, to, access = full.rpartition(".")[2], self._typed(full, operands[0]), _access(full)
        values = [self._get(kind, v) for v in self._list(operands[1])]
        if access:
            return " ".join(f"{access}::store({to} + {i}, {value});" for i, value in enumerate(values))
        return " ".join(f"{to}[{i}] = {value};" for i, value in enumerate(values))

    def _atomic(self, full: str, operands: list[str]) -> str:
        """The C++ of `atom`, which returns the previous value, or `red`, which does not."""
        words = full.split(".")
        kind, change = words[-1], next(word for word in reversed(words) if word in (*_UPDATES, "cas"))
        if "16" in kind or (change in ("inc", "dec") and kind != "u32"):
            raise UnsupportedError
        target, (address, *values) = ("_", operands) if words[0] == "red" else (operands[0], operands[1:])
        called = "compare_and_swap" if change == "cas" else f"template update<::simt::ptx::Operation_{change}>"
        passed = ", ".join((self._typed(full, address), *(self._get(kind, v) for v in values)))
        call = f"{_access(full) or _atomic_access('relaxed', 'gpu')}::{called}({passed})"
        return f"{call};" if target == "_" else self._set(target, call)

    def _typed(self, full: str, operand: str) -> str:
        address = self._address(operand, shared=".shared" in full)
        return f"static_cast<{_TYPES[full.rpartition('.')[2]]}*>({address})"

    def _load_matrices(self, full: str, operands: list[str]) -> str:
        if not re.fullmatch(
            r"ldmatrix\.sync\.aligned\.(x\d\.)?(trans\.)?m8n8\.(x\d\.)?(trans\.)?shared(::cta)?\.b16", full
        ):
            raise UnsupportedError
        targets = ", ".join(self._value(o) for o in self._list(operands[0]))
        transposed = "true" if ".trans" in full else "false"
        rows = self._address(operands[1], shared=True)
        return f"::simt::ptx::load_matrices<{transposed}>(::simt::ptx::Place(), {rows}, {targets});"

    def _move(self, full: str, operands: list[str]) -> str:
        kind = full.rpartition(".")[2]
        if "{" not in "".join(operands):
            return self._set(operands[0], self._get(kind, operands[1]))
        parts = self._list(operands[1] if "{" in operands[1] else operands[0])
        bits = int(kind[1:]) // len(parts)
        if bits not in (16, 32):
            raise UnsupportedError
        if "{" in operands[1]:
            values = (f"uint64_t({self._get(f'u{bits}', part)}) << {bits * i}" for i, part in enumerate(parts))
            return self._set(operands[0], f"uint{kind[1:]}_t({' | '.join(values)})")
        whole = self._get(f"u{kind[1:]}", operands[1])
        return " ".join(self._set(part, f"uint{bits}_t({whole} >> {bits * i})") for i, part in enumerate(parts))

    def _copy(self, full: str, operands: list[str]) -> str:
        if full == "cp.async.commit_group":
            return "::simt::commit_copies();"
        if full == "cp.async.wait_all":
            return "::simt::commit_copies(); ::simt::finish_copies(0);"
        if full == "cp.async.wait_group":
            return f"::simt::finish_copies({self._value(operands[0])});"
        if not re.match(r"cp\.async\.c[ag]\.shared(::cta)?\.global\b", full):
            raise UnsupportedError
        to, source = self._address(operands[0], shared=True), self._address(operands[1], shared=False)
        size = self._value(operands[2])
        source_size = self._value(operands[3]) if len(operands) > 3 else size
        return f"::simt::ptx::copy_async({to}, {source}, {size}, {source_size});"

    def _product(self, full: str, operands: list[str]) -> str:
        form = re.fullmatch(
            r"mma\.sync\.aligned\.m16n8k\d+\.row\.col\.(f16|f32|s32)\.(f16|bf16|tf32|s8|u8)\.\2\.\1", full
        )
        if not form:
            raise UnsupportedError
        d, a, b, c = map(self._list, operands)
        sums = {"f16": "uint32_t", "f32": "float", "s32": "int32_t"}[form[1]]
        factors = [f"::simt::ptx::get<uint32_t>({self._value(o)})" for o in (*a, *b)]
        added = [f"::simt::ptx::get<{sums}>({self._value(o)})" for o in c]
        head = f"::simt::ptx::Product<::simt::ptx::{form[2]}, {sums}, {len(a)}> simt_product("
        product = f"{head}{{{', '.join(factors)}}}, {{{', '.join(added)}}});"
        return "{ " + " ".join([product, *(self._set(o, f"simt_product.sums[{i}]") for i, o in enumerate(d))]) + " }"

    # By how the instruction begins.
    _FORMS: ClassVar[Mapping[str, Callable[[Translation, str, list[str]], str]]] = {
        **dict.fromkeys(_NO_EFFECT, lambda *_: ""),
        **dict.fromkeys(("membar", "fence"), _fence),
        **dict.fromkeys(("bar.", "barrier."), _barrier),
        **dict.fromkeys(("atom.", "red."), _atomic),
        "cvta.": lambda self, _, operands: self._set(operands[0], self._value(operands[1])),
        "cp.async.": _copy,
        "cvt.": _convert,
        "ldmatrix.": _load_matrices,
        "mma.sync.": _product,
        "mov.": _move,
        "ld.": _load,
        "st.": _store,
        "setp.": _compare,
    }
