"""CUDA's small functions, on each device: every rounding, words of halfwords and bytes, special functions, atomics.

A kernel is made of a table: an expression for each row of the output, and in Python what it must give.
"""

from __future__ import annotations

import itertools
import math
import statistics
from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest
from support import ROOT, constant

from runner.device import Source

BLOCK = 128
MODES = ("rn", "rz", "rd", "ru")


def kernel_of(expressions: list[str], operand: str, result: str) -> str:
    """A kernel that computes each expression of `a`, `b` and `c`, a row of the output each."""
    rows = "\n".join(f"    out[{i} * count + t] = {e};" for i, e in enumerate(expressions))
    return f"""
__device__ __forceinline__ unsigned word(bool x) {{ return x; }}
extern "C" __global__ void kernel(const {operand} *as, const {operand} *bs, const {operand} *cs, {result} *out)
{{
    const int t = blockIdx.x * blockDim.x + threadIdx.x, count = gridDim.x * blockDim.x;
    [[maybe_unused]] const {operand} a = as[t], b = bs[t], c = cs[t];
{rows}
}}
"""


def file(name: str) -> Source:
    """The function `kernel` of a file in tests/kernels/intrinsics."""
    path = ROOT / "tests" / "kernels" / "intrinsics" / name
    return Source(path, path.read_text(), "kernel")


def computed(bench, folder, expressions, operands, result) -> dict[str, np.ndarray]:
    """What the device makes of the expressions, for each triple of operands."""
    dtype = operands.dtype
    names = {"uint32": "unsigned", "float32": "float", "float64": "double", "int64": "long long"}
    count = -(-len(operands) // BLOCK) * BLOCK
    padded = np.ones((count, 3), dtype)
    padded[: len(operands)] = operands
    out = np.zeros((len(expressions), count), result)
    path = folder / "own.cu"
    path.write_text(kernel_of(expressions, names[dtype.name], names[np.dtype(result).name]))
    source = Source(path, path.read_text(), "kernel")
    (out,) = bench.call(source, *(constant(padded[:, i]) for i in range(3)), out, grid=count // BLOCK, block=BLOCK)
    return dict(zip(expressions, out[:, : len(operands)], strict=True))


# ------------------------------------------------------------------------------------------------------------ words


def units(words: np.ndarray, dtype: str) -> np.ndarray:
    """The units of words as wide integers, the lowest first."""
    return np.ascontiguousarray(words.astype(np.uint32)).view(dtype).reshape(len(words), -1).astype(np.int64)


def packed(values: np.ndarray) -> np.ndarray:
    """Words of units, each cut to its size."""
    return values.astype({2: np.uint16, 4: np.uint8}[values.shape[1]]).view(np.uint32)[:, 0]


def clipped(values: np.ndarray, dtype: str) -> np.ndarray:
    """The nearest values that the type can hold."""
    return np.clip(values, np.iinfo(dtype).min, np.iinfo(dtype).max)


Words = Callable[[np.ndarray, np.ndarray, np.ndarray], np.ndarray]


def unit_cases() -> dict[str, Words]:
    """Functions of two words, unit by unit."""

    def of(dtype: str, f: Callable[[np.ndarray, np.ndarray], np.ndarray]) -> Words:
        return lambda a, b, _: packed(f(units(a, dtype), units(b, dtype)))

    def sum_of(dtype: str) -> Words:
        return lambda a, b, _: np.abs(units(a, dtype) - units(b, dtype)).sum(axis=1)

    cases: dict[str, Words] = {}
    for n, signed, unsigned in ((2, "int16", "uint16"), (4, "int8", "uint8")):
        cases |= {
            f"__vadd{n}(a, b)": of(unsigned, np.add),
            f"__vsub{n}(a, b)": of(unsigned, np.subtract),
            f"__vabs{n}(a)": of(signed, lambda x, _: np.abs(x)),
            f"__vabsss{n}(a)": of(signed, lambda x, _, d=signed: clipped(np.abs(x), d)),
            f"__vneg{n}(a)": of(signed, lambda x, _: -x),
            f"__vnegss{n}(a)": of(signed, lambda x, _, d=signed: clipped(-x, d)),
            f"__vhaddu{n}(a, b)": of(unsigned, lambda x, y: (x + y) // 2),
            f"__vavgu{n}(a, b)": of(unsigned, lambda x, y: (x + y + 1) // 2),
            f"__vavgs{n}(a, b)": of(signed, lambda x, y: np.where(x + y < 0, (x + y) // 2, (x + y + 1) // 2)),
        }
        for letter, dtype in (("s", signed), ("u", unsigned)):
            cases |= {
                f"__vmax{letter}{n}(a, b)": of(dtype, np.maximum),
                f"__vmin{letter}{n}(a, b)": of(dtype, np.minimum),
                f"__vabsdiff{letter}{n}(a, b)": of(dtype, lambda x, y: np.abs(x - y)),
                f"__vsad{letter}{n}(a, b)": sum_of(dtype),
                f"__vadd{letter}s{n}(a, b)": of(dtype, lambda x, y, d=dtype: clipped(x + y, d)),
                f"__vsub{letter}s{n}(a, b)": of(dtype, lambda x, y, d=dtype: clipped(x - y, d)),
            }
        comparisons = {"eq": np.equal, "ne": np.not_equal}
        ordered = {"lt": np.less, "le": np.less_equal, "gt": np.greater, "ge": np.greater_equal}
        comparisons |= {f"{name}{letter}": f for name, f in ordered.items() for letter in "su"}
        for name, f in comparisons.items():
            dtype = signed if name.endswith("s") else unsigned
            cases[f"__vcmp{name}{n}(a, b)"] = of(dtype, lambda x, y, f=f: -f(x, y).astype(np.int64))
            cases[f"__vset{name}{n}(a, b)"] = of(dtype, lambda x, y, f=f: f(x, y).astype(np.int64))
    return cases


def extreme_cases() -> dict[str, Words]:
    """Minima and maxima of three words or halfwords, or of a sum and a third."""

    def of(dtype: str, name: str, relu: str) -> Words:
        extreme = {"max": np.maximum, "min": np.minimum}[name[-3:]]

        def compute(a, b, c):
            x, y, z = (units(w, dtype) for w in (a, b, c))
            first = (x + y).astype(dtype).astype(np.int64) if "add" in name else extreme(x, y)
            last = extreme(first, z)
            last = np.maximum(last, 0) if relu else last
            return packed(last) if last.shape[1] > 1 else last[:, 0]

        return compute

    cases: dict[str, Words] = {}
    for suffix, dtype in (("s32", "int32"), ("u32", "uint32"), ("s16x2", "int16"), ("u16x2", "uint16")):
        for which in ("max", "min"):
            for relu in ("", "_relu") if suffix[0] == "s" else ("",):
                cases[f"__vi{which}3_{suffix}{relu}(a, b, c)"] = of(dtype, which, relu)
                cases[f"__viadd{which}_{suffix}{relu}(a, b, c)"] = of(dtype, f"add{which}", relu)
    return cases


def dot(first: str, second: str, shift: int = 0) -> Words:
    """A third word plus the sum of products of units."""

    def compute(a, b, c):
        x, y = units(a, first), units(b >> shift, second)
        return c + (x * y[:, : x.shape[1]]).sum(axis=1)

    return compute


def nth_set(mask: int, base: int, n: int) -> int:
    """The position of the n-th set bit, as the PTX manual has it for `fns`."""
    order = range(base, 32) if n > 0 else range(base, -1, -1) if n < 0 else (base,)
    found = [at for at in order if mask >> at & 1]
    return found[max(abs(n), 1) - 1] if len(found) >= max(abs(n), 1) else 0xFFFFFFFF


def each(f: Callable[[int, int, int], int]) -> Words:
    """A function of single integers, of arrays."""
    return lambda a, b, c: np.array([f(*map(int, abc)) % 2**32 for abc in zip(a, b, c, strict=True)])


def signed(x: int) -> int:
    """A word as a signed integer."""
    return x - (x >> 31 << 32)


INTEGER_CASES: dict[str, Words] = {
    "__dp4a((int)a, (int)b, (int)c)": dot("int8", "int8"),
    "__dp4a(a, b, c)": dot("uint8", "uint8"),
    "__dp2a_lo((int)a, (int)b, (int)c)": dot("int16", "int8"),
    "__dp2a_hi((int)a, (int)b, (int)c)": dot("int16", "int8", 16),
    "__dp2a_lo(a, b, c)": dot("uint16", "uint8"),
    "__dp2a_hi(a, b, c)": dot("uint16", "uint8", 16),
    "__dp4a(*(char4 *)&a, *(char4 *)&b, (int)c)": dot("int8", "int8"),
    "__dp2a_hi(*(ushort2 *)&a, *(uchar4 *)&b, c)": dot("uint16", "uint8", 16),
    "__fns(a, b & 31, (int)(c % 9) - 4)": each(lambda a, b, c: nth_set(a, b & 31, c % 9 - 4)),
    "__byte_perm(a, b, c & 0x7777)": each(
        lambda a, b, c: sum((((b << 32 | a) >> 8 * (c >> 4 * i & 7)) & 255) << 8 * i for i in range(4))
    ),
    "__funnelshift_l(a, b, c)": each(lambda a, b, c: (b << 32 | a) << (c & 31) >> 32),
    "__funnelshift_rc(a, b, c)": each(lambda a, b, c: (b << 32 | a) >> min(c, 32)),
    "__brev(a)": each(lambda a, *_: int(f"{a:032b}"[::-1], 2)),
    "__umulhi(a, b)": each(lambda a, b, _: a * b >> 32),
    "__mulhi((int)a, (int)b)": each(lambda a, b, _: signed(a) * signed(b) >> 32),
    "__usad(a, b, c)": each(lambda a, b, c: abs(a - b) + c),
    "__sad((int)a, (int)b, c)": each(lambda a, b, c: abs(signed(a) - signed(b)) + c),
    "__hadd((int)a, (int)b)": each(lambda a, b, _: signed(a) + signed(b) >> 1),
    "__rhadd((int)a, (int)b)": each(lambda a, b, _: signed(a) + signed(b) + 1 >> 1),
    "__uhadd(a, b)": each(lambda a, b, _: a + b >> 1),
    "__urhadd(a, b)": each(lambda a, b, _: a + b + 1 >> 1),
    "__mul24((int)a, (int)b)": each(
        lambda a, b, _: signed(a << 8 & 0xFFFFFFFF) // 256 * (signed(b << 8 & 0xFFFFFFFF) // 256)
    ),
    "__umul24(a, b)": each(lambda a, b, _: (a & 0xFFFFFF) * (b & 0xFFFFFF)),
    "(unsigned)(ullmax(a, b) - ullmin(a, b))": each(lambda a, b, _: abs(a - b)),
    "__vimax_s32_relu((int)a, (int)b)": each(lambda a, b, _: max(signed(a), signed(b), 0)),
    "__vimin_s32_relu((int)a, (int)b)": each(lambda a, b, _: max(min(signed(a), signed(b)), 0)),
}
WORD_CASES = {**unit_cases(), **extreme_cases(), **INTEGER_CASES}


def words() -> np.ndarray:
    """Triples of words: all pairs of those at which something happens, and drawn ones."""
    special = [0, 1, 0x7F, 0x80, 0xFF, 0x7FFF, 0x8000, 0x7FFF8000, 0x80007FFF, 0x80808080, 0x7F7F7F7F, 2**31, 2**32 - 1]
    rng = np.random.default_rng(1)
    pairs = np.array(list(itertools.product(special, special)), np.uint32)
    pairs = np.column_stack([pairs, rng.integers(0, 2**32, len(pairs), np.uint32)])
    drawn = rng.integers(0, 2**32, (700, 3), np.uint32)
    near = drawn.copy()
    near[:, 1] = near[:, 0] ^ rng.integers(0, 2**32, len(near), np.uint32) & 0x01030103
    near[:, 2] %= 40
    return np.concatenate([pairs, drawn, near])


def test_integers_and_words_of_units(bench, tmp_path):
    """Each function of words gives what its definition says, of each of 2000 triples of words."""
    operands = words()
    given = computed(bench, tmp_path, list(WORD_CASES), operands, np.uint32)
    wide = operands.astype(np.int64).T
    wrong = {}
    for expression, expected in WORD_CASES.items():
        right = expected(*wide).astype(np.int64) % 2**32
        differ = np.flatnonzero(given[expression] != right)
        if differ.size:
            wrong[expression] = [hex(x[differ[0]]) for x in (*operands.T, given[expression], right)]
    assert not wrong


# --------------------------------------------------------------------------------------------------------- roundings


class Format:
    """A binary floating-point type."""

    def __init__(self, dtype: type[np.floating], digits: int, lowest: int) -> None:
        self.dtype = dtype
        self.digits = digits  # of a significand
        self.lowest = lowest  # the exponent of the smallest subnormal number
        self.largest = Fraction(float(np.finfo(dtype).max))

    def rounded(self, x: Fraction, mode: str) -> np.floating:
        """The number that an exact value other than 0 is rounded to."""
        magnitude, negative = abs(x), x < 0
        exponent = magnitude.numerator.bit_length() - magnitude.denominator.bit_length()
        exponent -= magnitude < Fraction(2) ** exponent
        last_place = Fraction(2) ** max(exponent - self.digits + 1, self.lowest)
        whole, rest = divmod(magnitude, last_place)
        half = rest * 2 > last_place or (rest * 2 == last_place and whole % 2 == 1)
        away = {"rn": half, "rz": False, "rd": bool(rest) and negative, "ru": bool(rest) and not negative}[mode]
        value = (whole + away) * last_place
        if value > self.largest:
            stays = {"rn": False, "rz": True, "rd": not negative, "ru": negative}[mode]
            return self.dtype(-1 if negative else 1) * (np.finfo(self.dtype).max if stays else self.dtype(np.inf))
        return self.dtype(-float(value) if negative else float(value))


SINGLE, DOUBLE = Format(np.float32, 24, -149), Format(np.float64, 53, -1074)


def root(x: Fraction) -> Fraction:
    """The square root: exact, or a number on the same side of every number and tie of a type."""
    scaled = x * 4**1200
    found = math.isqrt(scaled.numerator // scaled.denominator)
    exact = Fraction(found) ** 2 == scaled
    return (found if exact else found + Fraction(1, 2)) / Fraction(2**1200)


OPERATIONS = {
    "add": lambda a, b, _: a + b,
    "sub": lambda a, b, _: a - b,
    "mul": lambda a, b, _: a * b,
    "div": lambda a, b, _: a / b,
    "fma": lambda a, b, c: a * b + c,
    "rcp": lambda a, *_: 1 / a,
    "sqrt": lambda a, *_: root(a),
}


def directed(fmt: Format, name: str, mode: str, abc: np.ndarray) -> np.floating:
    """What IEEE 754 says an operation gives."""
    a, b, c = abc
    usual = {
        "add": lambda: a + b,
        "sub": lambda: a - b,
        "mul": lambda: a * b,
        "div": lambda: a / b,
        "fma": lambda: a * b + c,
        "rcp": lambda: fmt.dtype(1) / a,
        "sqrt": lambda: np.sqrt(a),
    }[name]()
    used = abc[: {"rcp": 1, "sqrt": 1, "fma": 3}.get(name, 2)]
    by_zero = (name == "div" and b == 0) or (name == "rcp" and a == 0)
    if not np.isfinite(used).all() or by_zero or (name == "sqrt" and a <= 0):
        return usual
    exact = OPERATIONS[name](*(Fraction(float(x)) for x in np.nan_to_num(abc)))
    if exact:
        return fmt.rounded(exact, mode)
    left, right = {"add": (a, b), "sub": (a, -b), "fma": (a * b, c)}.get(name, (usual, usual))
    if np.signbit(left) == np.signbit(right):
        return fmt.dtype(-0.0 if np.signbit(left) else 0.0)
    return fmt.dtype(-0.0 if mode == "rd" else 0.0)  # of an exact difference


def numbers(fmt: Format) -> np.ndarray:
    """Triples of numbers: special ones in pairs, and drawn ones that round, cancel, overflow and underflow."""
    info = np.finfo(fmt.dtype)
    special = [0.0, -0.0, 1.0, -1.5, np.inf, np.nan, info.max, -info.max, info.tiny, -info.smallest_subnormal, 3.0]
    rng = np.random.default_rng(2)
    pairs = np.array([(a, b, c) for a, b in itertools.product(special, special) for c in (1.0, -info.tiny)], fmt.dtype)
    size = 300
    exponents = rng.integers(info.minexp - info.nmant, info.maxexp, (size, 3))
    exponents[: size // 2] = rng.integers(-4, 4, (size // 2, 3))
    drawn = np.ldexp(rng.uniform(1, 2, (size, 3)) * rng.choice([-1, 1], (size, 3)), exponents).astype(fmt.dtype)
    with np.errstate(over="ignore"):
        drawn[::5, 2] = np.clip(
            -drawn[::5, 0] * drawn[::5, 1], -info.max, info.max
        )  # so that an fma keeps only what the product lost
    return np.concatenate([pairs, drawn])


@np.errstate(all="ignore")
@pytest.mark.parametrize(("letter", "fmt"), [("f", SINGLE), ("d", DOUBLE)], ids=["float", "double"])
def test_each_rounding_of_arithmetic(bench, tmp_path, letter, fmt):
    """The result is the exact one, rounded once in the direction that the name says; zeros have their sign."""
    names = {name: f"__{letter}{name}_" for name in OPERATIONS} | {"fma": "__fmaf_" if letter == "f" else "__fma_"}
    operands = {"rcp": "a", "sqrt": "a", "fma": "a, b, c"}
    cases = {f"{names[n]}{m}({operands.get(n, 'a, b')})": (n, m) for n in OPERATIONS for m in MODES}
    triples = numbers(fmt)
    given = computed(bench, tmp_path, list(cases), triples, fmt.dtype)
    wrong = {}
    for expression, (name, mode) in cases.items():
        expected = np.array([directed(fmt, name, mode, abc) for abc in triples], fmt.dtype)
        same = (given[expression] == expected) & (np.signbit(given[expression]) == np.signbit(expected))
        differ = np.flatnonzero(~(same | (np.isnan(expected) & np.isnan(given[expression]))))
        if differ.size:
            at = differ[0]
            wrong[expression] = [float(x).hex() for x in (*triples[at], given[expression][at], expected[at])]
    assert not wrong


def test_each_rounding_of_conversions(bench, tmp_path):
    """Integers to floats, and doubles to floats, in each direction; an integer 0 is +0 in all."""
    integers = [0, 1, -1, 2**24 + 1, -(2**24) - 1, 2**31 - 1, -(2**31), 2**53 + 1, 2**62 + 3, -(2**63), 2**63 - 1]
    rng = np.random.default_rng(3)
    drawn = rng.integers(-(2**63), 2**63 - 1, 300) >> rng.integers(0, 60, 300)
    column = np.array([*integers, *drawn.tolist()], np.int64)
    triples = np.column_stack([column, column, column])
    types = {"int": "int32", "uint": "uint32", "ll": "int64", "ull": "uint64"}
    cases = {f"__{name}2float_{mode}(a)": (dtype, SINGLE, mode) for name, dtype in types.items() for mode in MODES}
    cases |= {f"__{n}2double_{m}(a)": (types[n], DOUBLE, m) for n in ("ll", "ull") for m in MODES}
    cases |= {f"__{name}2double_rn(a)": (types[name], DOUBLE, "rn") for name in ("int", "uint")}
    given = computed(bench, tmp_path, list(cases), triples, np.float64)
    for expression, (dtype, fmt, mode) in cases.items():
        values = [int(x) for x in column.astype(dtype)]
        expected = [float(fmt.rounded(Fraction(x), mode)) if x else 0.0 for x in values]
        assert list(map(str, given[expression])) == list(map(str, map(np.float64, expected))), expression
    doubles = numbers(DOUBLE)
    doubles = doubles[np.isfinite(doubles[:, 0]) & (doubles[:, 0] != 0)]
    for mode in MODES:
        (floats,) = computed(bench, tmp_path, [f"__double2float_{mode}(a)"], doubles, np.float32).values()
        assert list(floats) == [SINGLE.rounded(Fraction(x), mode) for x in doubles[:, 0].tolist()], mode


# --------------------------------------------------------------------------------------------------- special functions


def bessel_i1(x: float) -> float:
    """The modified Bessel function of order 1, by its series."""
    terms = itertools.accumulate(range(1, 400), lambda t, k: t * (x / 2) ** 2 / (k * (k + 1)), initial=x / 2)
    return math.fsum(terms)


def scaled_erfc(x: float) -> float:
    """exp(x^2) * erfc(x): by its continued fraction where erfc is small."""
    if x < 3:
        return math.exp(x * x) * math.erfc(x)
    fraction = x
    for k in range(200, 0, -1):
        fraction = x + k / 2 / fraction
    return 1 / fraction / math.sqrt(math.pi)


NORMAL = statistics.NormalDist()
POSITIVE = [1e-30, 1e-3, 0.1, 0.5, 0.7, 1.0, 1.25, 2.0, 3.7, 10.0, 25.0, 80.0]
REAL = [-5.0, -2.5, -1.0, -0.3, 0.0, 0.01, 0.5, 1.5, 3.0, 6.0]
OPEN = [1e-9, 1e-4, 0.02, 0.1, 0.3, 0.5, 0.51, 0.8, 0.97, 0.999]
SPECIAL_CASES = {
    "normcdf{f}(a)": (lambda x: math.erfc(-x / math.sqrt(2)) / 2, [*REAL, -8.0]),
    "normcdfinv{f}(a)": (NORMAL.inv_cdf, OPEN),
    "erfcinv{f}(a)": (lambda x: -NORMAL.inv_cdf(x / 2) / math.sqrt(2), [x for x in OPEN if x < 0.9]),
    "erfinv{f}(a)": (lambda x: NORMAL.inv_cdf((x + 1) / 2) / math.sqrt(2), [x for x in OPEN if 0.01 < x < 0.9]),
    "erfcx{f}(a)": (scaled_erfc, [x for x in (*REAL, *POSITIVE) if x > -3]),
    "rcbrt{f}(a)": (lambda x: x ** (-1 / 3), POSITIVE),
    "rsqrt{f}(a)": (lambda x: 1 / math.sqrt(x), POSITIVE),
    "rhypot{f}(a, b)": (lambda x: 1 / math.hypot(x, 2), REAL),
    "norm3d{f}(a, b, c)": (lambda x: math.hypot(x, 2, 3), REAL),
    "rnorm3d{f}(a, b, c)": (lambda x: 1 / math.hypot(x, 2, 3), REAL),
    "norm4d{f}(a, b, c, a)": (lambda x: math.hypot(x, 2, 3, x), REAL),
    "rnorm4d{f}(a, b, c, a)": (lambda x: 1 / math.hypot(x, 2, 3, x), REAL),
    "exp10{f}(a)": (lambda x: 10.0**x, REAL),
    "cyl_bessel_i0{f}(a)": (lambda x: float(np.i0(x)), [x for x in (*REAL, *POSITIVE) if x < 80]),
    "cyl_bessel_i1{f}(a)": (bessel_i1, [x for x in (*REAL, *POSITIVE) if x < 80]),
    "fdivide{f}(a, b)": (lambda x: x / 2, REAL),
}
# Functions that are exact at these arguments: expected value by argument, on every device.
EXACT = {
    "sinpi{f}(a)": {0.5: 1, 1.0: 0, -1.5: 1, 2.0: 0, 1000001.5: -1, 4.0: 0},
    "cospi{f}(a)": {0.5: 0, 1.0: -1, -1.5: 0, 2.0: 1, 1000001.0: -1, 1e6: 1},
    "erfcinv{f}(a)": {0.0: np.inf, 2.0: -np.inf, 1.0: 0, 3.0: np.nan},
    "erfinv{f}(a)": {0.0: 0, 1.0: np.inf, -1.0: -np.inf, 2.0: np.nan},
    "normcdfinv{f}(a)": {0.0: -np.inf, 1.0: np.inf, 0.5: 0, -1.0: np.nan},
    "norm3d{f}(a, b, NAN)": {np.inf: np.inf, -np.inf: np.inf, 1.0: np.nan},
    "__saturatef(a)": {np.nan: 0, 1.5: 1, -2.0: 0, 0.25: 0.25},
}


@pytest.mark.parametrize(("suffix", "dtype"), [("f", np.float32), ("", np.float64)], ids=["float", "double"])
def test_special_functions(bench, tmp_path, suffix, dtype):
    """Inverses of the error function and the normal distribution, Bessel functions, lengths: within CUDA's errors."""
    every = sorted(
        {x for _, (_, xs) in SPECIAL_CASES.items() for x in xs} | {x for e in EXACT.values() for x in e}, key=str
    )
    triples = np.array([(x, 2, 3) for x in every], dtype)
    cases = [e.format(f=suffix) for e in (*SPECIAL_CASES, *EXACT)]
    given = computed(bench, tmp_path, list(dict.fromkeys(cases)), triples, dtype)
    at = {str(x): i for i, x in enumerate(every)}
    for expression, (expected, xs) in SPECIAL_CASES.items():
        rounded = [float(dtype(x)) for x in xs]
        got = given[expression.format(f=suffix)][[at[str(x)] for x in xs]]
        np.testing.assert_allclose(
            got, [expected(x) for x in rounded], rtol=16 * np.finfo(dtype).eps + 4e-15, err_msg=expression
        )
    for expression, values in EXACT.items():
        got = given[expression.format(f=suffix)][[at[str(x)] for x in values]]
        np.testing.assert_array_equal(got, list(values.values()), err_msg=expression)


# ---------------------------------------------------------------------------------------- atomics, clocks and the rest


def test_atomics_clocks_and_cache_hints(bench):
    """Vector atomics add each element; counters wrap; 16 bits are compared and swapped; clocks do not run backwards."""
    sums, counters = np.zeros(10, np.float32), np.zeros(4, np.uint32)
    halves, flags = np.zeros(2, np.uint16), np.array([0, 0, 0, 0, 21], np.int32)
    sums, counters, halves, flags = bench.call(
        file("rest.cu"), sums, counters, halves.view(np.float16), flags, block=BLOCK
    )
    assert list(sums) == [128, 256, 0, 0, 128, 256, 384, 512, 128, 256]
    assert list(counters) == [128 % 5, 5 - 128 % 5, 127, 128]
    assert list(halves) == [128, 64]
    assert list(flags) == [1, 1, 42, 1, 21]


def test_atomics_with_an_order_and_a_scope(bench):
    """Those of CUDA 12.8: with and without the value before, with values and with pointers."""
    words = np.zeros(12, np.uint32)
    words[[1, 2, 4, 8]] = BLOCK - 1, 1000, 0xFFFFFFFF, 7
    sums, flags = np.array([0, 2], np.float32), np.zeros(BLOCK + 1, np.int32)
    words, sums, flags = bench.call(file("scoped.cu"), words, sums, flags, block=BLOCK)
    last = BLOCK - 1
    assert list(words) == [2 * BLOCK, 0xFFFFFFFF, 0, last, 0, 0xFFFFFFFF, 0, 3 * BLOCK, 1, 6, 1, 5]
    assert list(sums) == [BLOCK / 2, 4]
    assert list(flags) == [1] * (BLOCK + 1)
