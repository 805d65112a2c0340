"""Half-precision types: conversions, arithmetic, shuffles and arguments, against NumPy and exact arithmetic."""

import itertools
import re
import subprocess
import warnings
from dataclasses import dataclass
from fractions import Fraction

import ml_dtypes
import numpy as np
import pytest
from conformance_launches import FULL, KERNELS, KINDS, source_lane

from runner.device import Role
from runner.device.cpu.build import _SHIM, _text_of_sources
from runner.device.cpu.translate import NATIVE
from runner.errors import CompileError, LaunchError

FILE, PAIRS = "half.cu", "half_pairs.cu"
BLOCK = 256
NAN = 0x7FFF  # the one that a GPU's arithmetic gives
ROUND = {"rn": np.rint, "rz": np.trunc, "rd": np.floor, "ru": np.ceil}
BITS = np.arange(65536, dtype=np.uint16)


@dataclass(frozen=True)
class Format:
    """A format, and the types that have it."""

    name: str
    number: str
    pair: str
    dtype: np.dtype
    fraction_bits: int
    lowest_exponent: int
    infinity: int

    @property
    def macros(self):
        """What half.cu wants to know."""
        return (("FORMAT", self.name), ("NUMBER", self.number), ("PAIR", self.pair))

    def of_bits(self, bits):
        """Numbers by their bits."""
        return np.asarray(bits, np.uint16).view(self.dtype)

    def values(self, numbers):
        """Numbers as float64, exactly."""
        return np.asarray(numbers).astype(np.float32).astype(np.float64)


HALF = Format("half", "__half", "__half2", np.dtype(np.float16), 10, -14, 0x7C00)
BFLOAT16 = Format("bfloat16", "__nv_bfloat16", "__nv_bfloat162", np.dtype(ml_dtypes.bfloat16), 7, -126, 0x7F80)


@pytest.fixture(params=[HALF, BFLOAT16], ids=lambda f: f.name)
def fmt(request):
    """Both formats, one after the other."""
    return request.param


@pytest.fixture(autouse=True)
def quiet():
    """Overflow, NaN and division by zero are what these tests are about."""
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        yield


@pytest.fixture
def kernel(bench, fmt):
    """A kernel of half.cu, or of another file, all of whose kernels are compiled at once."""

    def load(function, file=FILE):
        first, *further = re.findall(r"__global__ void (\w+)", (KERNELS / file).read_text())
        program = bench.load(bench.source(file, first, macros=fmt.macros, other_functions=tuple(further)))
        return program if function == first else program.sibling(function)

    return load


@pytest.fixture
def run(bench, fmt, kernel):
    """Run a kernel, one thread for each element of the inputs; give each thread's row of the output."""

    def call(function, *inputs, width, dtype=None, file=FILE):
        count = len(inputs[0])
        threads = -(-count // BLOCK) * BLOCK
        padded = [np.concatenate([x, np.zeros((threads - count, *x.shape[1:]), x.dtype)]) for x in inputs]
        out = bench.place(np.zeros((threads, width), dtype or fmt.dtype))
        arrays = [bench.place(x, Role.IN, f"input {i}") for i, x in enumerate(padded)]
        bench.launch(kernel(function, file), *arrays, out, grid=threads // BLOCK, block=BLOCK)
        return out.read()[:count]

    return call


def rounded(fmt, x, how="rn"):
    """The bits of float64 values, rounded as IEEE 754 says; written without regard for bits."""
    x = np.asarray(x, np.float64)
    exponent = np.frexp(np.where(np.isfinite(x), x, 0))[1] - 1
    last_place = np.ldexp(1.0, np.maximum(exponent, fmt.lowest_exponent) - fmt.fraction_bits)
    value = np.copysign(ROUND[how](x / last_place) * last_place, x)
    largest = fmt.values(fmt.of_bits([fmt.infinity - 1]))[0]
    stays = {"rn": False, "rz": True, "rd": x > 0, "ru": x < 0}[how]
    beyond = np.where(stays, largest, np.inf)
    value = np.where((np.abs(value) > largest) & np.isfinite(x), np.copysign(beyond, x), value)
    return np.where(np.isnan(x), NAN, value.astype(np.float32).astype(fmt.dtype).view(np.uint16))


def hard_values(fmt):
    """Float64 values at, and next to, all that can round one way or the other; and many more."""
    numbers = fmt.values(fmt.of_bits(BITS))
    numbers = np.sort(numbers[np.isfinite(numbers)])
    ties = (numbers[1:] + numbers[:-1]) / 2
    largest, step = numbers[-1], numbers[-1] - numbers[-2]
    ties = np.concatenate([ties, [largest + step / 2, -largest - step / 2]])
    rng = np.random.default_rng(1)
    drawn = rng.integers(0, 2**32, 20000, np.uint32).view(np.float32).astype(np.float64)
    special = [0.0, -0.0, np.inf, -np.inf, np.nan, 1e-45, -1e-45, 3e38, -3e38, largest + step, 65504, 65520]
    return np.concatenate([numbers, ties, drawn, special])


def same_bits(given, expected, *inputs):
    """The outputs are bit for bit what is expected, but for the payload of a NaN, which must be one."""
    given = np.asarray(given).view(np.uint16)
    wrong = np.flatnonzero(given != expected)
    assert wrong.size == 0, [(hex(given[i]), hex(expected[i]), *(x[i] for x in inputs)) for i in wrong[:5]]


def test_every_number_as_a_float(run, fmt):
    """All 65536 patterns are the float that NumPy makes of them."""
    numbers = fmt.of_bits(BITS)
    for column in run("toFloat", numbers, width=7, dtype=np.float32).T:
        np.testing.assert_array_equal(column, numbers.astype(np.float32))


def test_floats_round_to_nearest_even_as_in_numpy(run, fmt):
    """Ties, neighbours of ties, subnormals, overflow, NaN and drawn floats, against float16 and ml_dtypes."""
    floats = hard_values(fmt).astype(np.float32)
    floats = np.concatenate([floats, np.nextafter(floats, np.float32(np.inf)), np.nextafter(floats, np.float32(0))])
    expected = np.where(np.isnan(floats), NAN, floats.astype(fmt.dtype).view(np.uint16))
    same_bits(expected, rounded(fmt, floats), floats)  # the tests' own rounding is NumPy's
    given = run("fromFloat", floats, width=8)
    for column, how in enumerate(("rn", "rn", "rz", "rd", "ru", "rn", "rn", "rn")):
        same_bits(given[:, column], rounded(fmt, floats, how), floats)


def test_doubles_round_once(run, fmt):
    """Not by way of a float: a double next to a tie is no tie."""
    doubles = hard_values(fmt)
    doubles = np.concatenate([doubles, np.nextafter(doubles, np.inf), np.nextafter(doubles, 0), [5e-324, 1e300]])
    for column in run("fromDouble", doubles, width=2).T:
        same_bits(np.ascontiguousarray(column), rounded(fmt, doubles), doubles)


def exactly(fmt, x, how="rn"):
    """The bits of a fraction, rounded."""
    magnitude, negative = abs(x), x < 0
    if x == 0:
        return 0
    exponent = magnitude.numerator.bit_length() - magnitude.denominator.bit_length()
    exponent -= magnitude < Fraction(2) ** exponent
    last_place = Fraction(2) ** (max(exponent, fmt.lowest_exponent) - fmt.fraction_bits)
    whole, rest = divmod(magnitude, last_place)
    tie_or_more = rest * 2 > last_place or (rest * 2 == last_place and whole % 2)
    away = {"rn": tie_or_more, "rz": False, "rd": rest and negative, "ru": rest and not negative}[how]
    value = (whole + bool(away)) * last_place
    largest = Fraction(fmt.values(fmt.of_bits([fmt.infinity - 1]))[0])
    stays = {"rn": False, "rz": True, "rd": not negative, "ru": negative}[how]
    if value > largest:
        return (fmt.infinity - stays) | negative << 15
    return int(rounded(fmt, [float(value)])[0]) | negative << 15


INTEGERS = [*range(-600, 600), *(s * (2**k + d) for s in (1, -1) for k in range(11, 63) for d in (-1, 0, 1))]
INTEGERS += [s * ((2 * m + 1 << k) + d) for s in (1, -1) for m in (256, 2048) for k in range(48) for d in (-1, 0, 1)]
INTEGERS += [2**63 - 1, -(2**63), 65519, 65520, 65521, -65520]


def test_integers_round_once(run, fmt):
    """Also those that no double holds, in all four roundings and from each type of integer."""
    every = np.array(INTEGERS, np.int64)
    given = run("fromInteger", every, width=32).view(np.uint16)
    for number, dtype in enumerate((np.int64, np.uint64, np.int32, np.uint32, np.int16, np.uint16)):
        values = every.astype(dtype)
        beyond = np.flatnonzero([abs(int(x)) >> 53 for x in values])
        for column, how in enumerate(ROUND, start=4 * number):
            expected = rounded(fmt, values, how)
            expected[beyond] = [exactly(fmt, Fraction(int(values[i])), how) for i in beyond]
            same_bits(given[:, column].copy(), expected, values)
    for column, same in enumerate((0, 4, 8, 12, 16, 20, 0, 4), start=24):
        same_bits(given[:, column].copy(), given[:, same])


def test_numbers_to_integers(run, fmt):
    """All patterns, all types: rounded, saturated, and NaN as on a GPU."""
    numbers = fmt.of_bits(BITS)
    values = fmt.values(numbers)
    given = run("toInteger", numbers, width=32, dtype=np.int64)

    def expected(how, dtype):
        low, high = np.iinfo(dtype).min, np.iinfo(dtype).max
        of_nan = -(2**63) if dtype in (np.int64, np.uint64) else 0
        inside = np.clip(
            ROUND[how](np.nan_to_num(values)), float(low), np.nextafter(float(high), 0) if high > 2**53 else high
        )
        whole = inside.astype(dtype)
        whole = np.where(values >= float(high), dtype(high), whole)
        return np.where(np.isnan(values), of_nan, whole.astype(np.int64))

    columns = [
        (how, dtype) for dtype in (np.int32, np.uint32, np.int16, np.uint16, np.int64, np.uint64) for how in ROUND
    ]
    columns += [("rz", dtype) for dtype in (np.int8, np.uint8, np.int32, np.uint32, np.int64, np.int16)]
    for column, (how, dtype) in enumerate(columns):
        wrong = np.flatnonzero(given[:, column] != expected(how, dtype))
        assert wrong.size == 0, (how, dtype, [(values[i], given[i, column]) for i in wrong[:5]])
    assert (given[:, 30] == (values != 0)).all()
    assert (given[:, 31] == (values == 0)).all()


def operands(fmt, count, seed):
    """Drawn patterns, and all pairs of those at which something happens."""
    infinity, one = fmt.infinity, int(fmt.dtype.type(1).view(np.uint16))
    special = [0, 1, 2, one - 1, one, one + 1, infinity - 1, infinity, infinity + 1, NAN, 1 << fmt.fraction_bits]
    special += [(1 << fmt.fraction_bits) - 1]
    special += [0x8000 | x for x in special]
    pairs = np.array(list(itertools.product(special, special)), np.uint16)
    rng = np.random.default_rng(seed)
    far = rng.integers(0, 65536, (count, 2), np.uint16)
    near = far.copy()  # whose exponents are alike, so that sums round
    near[:, 1] = near[:, 0] ^ rng.integers(0, 3 << fmt.fraction_bits, count, np.uint16)
    drawn = np.concatenate([pairs, far, near])
    return fmt.of_bits(drawn[:, 0].copy()), fmt.of_bits(drawn[:, 1].copy())


def in_numpy(fmt, a, b):
    """The bits of sum, difference, product and quotient; NaN is NaN."""
    results = [a + b, a - b, a * b, a / b]
    return [np.where(np.isnan(x.astype(np.float32)), NAN, x.view(np.uint16)) for x in results]


def clamped(fmt, bits):
    """From 0 to 1; NaN is 0."""
    values = np.nan_to_num(fmt.values(fmt.of_bits(bits)), nan=0.0, posinf=2.0, neginf=-1.0)
    return (np.clip(values, 0, 1) + 0.0).astype(np.float32).astype(fmt.dtype).view(np.uint16)


def test_arithmetic_as_in_numpy(run, fmt):
    """Each form of + - * / is NumPy's, bit for bit, on drawn and on special pairs."""
    a, b = operands(fmt, 30000, 2)
    given = run("arithmetic", a, b, b, width=32)
    added, subtracted, multiplied, divided = in_numpy(fmt, a, b)
    one = np.ones_like(a)
    expected = {0: added, 1: subtracted, 2: multiplied, 3: divided}
    expected |= {16: added, 17: subtracted, 18: multiplied, 19: divided, 20: added, 21: subtracted, 22: multiplied}
    expected |= {23: added, 24: subtracted, 25: multiplied, 26: divided}
    expected |= {11: clamped(fmt, added), 12: clamped(fmt, subtracted), 13: clamped(fmt, multiplied)}
    expected |= {27: in_numpy(fmt, a, one)[0], 28: in_numpy(fmt, a, one)[1]}
    expected |= {5: a.view(np.uint16) ^ 0x8000, 6: a.view(np.uint16) & 0x7FFF}
    expected |= {29: a.view(np.uint16) ^ 0x8000, 30: a.view(np.uint16)}
    expected |= {31: in_numpy(fmt, expected[27].view(fmt.dtype), one)[1]}
    for column, bits in expected.items():
        same_bits(given[:, column].copy(), bits, a, b, np.full(len(a), column))


def test_largest_and_smallest(run, fmt):
    """A NaN loses, or wins with _nan; -0 is less than 0."""
    a, b = operands(fmt, 20000, 3)
    given = run("arithmetic", a, b, b, width=32)
    x, y = fmt.values(a), fmt.values(b)
    by_sign = np.signbit(x) < np.signbit(y)
    a_is_higher = (x > y) | ((x == y) & by_sign)
    a_is_lower = (x < y) | ((x == y) & ~by_sign)
    either, both = np.isnan(x) | np.isnan(y), np.isnan(x) & np.isnan(y)
    left, right = a.view(np.uint16), b.view(np.uint16)
    for column, a_wins in ((7, a_is_higher), (8, a_is_lower)):
        strict = np.where(a_wins, left, right)
        lenient = np.where(np.isnan(x), right, np.where(np.isnan(y), left, strict))
        same_bits(given[:, column].copy(), np.where(both, NAN, lenient), a, b)
        same_bits(given[:, column + 2].copy(), np.where(either, NAN, strict), a, b)


def test_fused_multiply_add_rounds_once(run, fmt):
    """Against exact fractions: drawn triples, ties moved by next to nothing, cancellation."""
    rng = np.random.default_rng(4)
    drawn = rng.integers(0, 65536, (1000, 3), np.uint16)
    values = fmt.values(fmt.of_bits(drawn))
    # c is -a * b, rounded: what is left are the bits that a rounded product lacks.
    cancels = np.stack([values[:, 0], values[:, 1], -(values[:, 0] * values[:, 1])], 1)
    # A product with one bit too many is a tie, which c moves by next to nothing.
    tiny = fmt.values(fmt.of_bits([1, 0x8001, 0x0100, 0x8100]))
    factors = [(a, b) for a in range(1, 2 << fmt.fraction_bits, 2) for b in (3, 37)]
    ties = [(a, b, c) for a, b in factors if (a * b).bit_length() == fmt.fraction_bits + 2 for c in tiny]
    # A product of half of c's last place, or a little more.
    halves = [
        (c, 2.0 ** -(fmt.fraction_bits + 1), 1 + m * 2.0**-fmt.fraction_bits)
        for c in (1, 1 + 2.0**-fmt.fraction_bits)
        for m in range(8)
    ]
    triples = np.concatenate([values, cancels, ties, halves])
    numbers = triples.astype(np.float32).astype(fmt.dtype)
    triples = fmt.values(numbers)
    finite = np.isfinite(triples).all(axis=1)
    numbers, triples = np.ascontiguousarray(numbers[finite]), triples[finite]
    columns = [np.ascontiguousarray(column) for column in numbers.T]
    given = run("arithmetic", *columns, width=32)
    expected, lost = [], 0
    for a, b, c in triples:
        total = Fraction(a) * Fraction(b) + Fraction(c)
        expected.append(exactly(fmt, total) if total else int(rounded(fmt, [a * b + c])[0]))
        lost += expected[-1] != rounded(fmt, [np.float64(np.float32(np.float32(a) * np.float32(b)) + np.float32(c))])[0]
    expected = np.array(expected, np.uint16)
    assert lost > 20  # these cases differ from a float's
    same_bits(given[:, 4].copy(), expected, *triples.T)
    same_bits(given[:, 14].copy(), clamped(fmt, expected), *triples.T)
    relu = np.where(expected >= 0x8000, 0, expected)
    same_bits(given[:, 15].copy(), relu, *triples.T)


def test_fused_multiply_add_of_no_numbers(run, fmt):
    """NaN, infinity times zero and infinity minus infinity give NaN."""
    inf, nan = np.inf, np.nan
    triples = [(inf, 0, 1), (inf, 1, -inf), (nan, 1, 1), (1, 1, nan), (inf, -1, 5), (2, 3, -inf)]
    columns = [np.array(column, np.float32).astype(fmt.dtype) for column in zip(*triples, strict=True)]
    given = run("arithmetic", *columns, width=32)
    minus = fmt.infinity | 0x8000
    same_bits(given[:, 4].copy(), np.array([NAN] * 4 + [minus] * 2))
    same_bits(given[:, 15].copy(), np.array([NAN] * 4 + [0] * 2))


def test_comparisons(run, fmt):
    """Ordered ones are false for NaN, unordered ones true."""
    a, b = operands(fmt, 20000, 5)
    x, y = fmt.values(a), fmt.values(b)
    given = run("comparisons", a, b, width=4, dtype=np.uint32)
    unordered = np.isnan(x) | np.isnan(y)
    plain = [x == y, x != y, x < y, x <= y, x > y, x >= y]
    ordered = [c & ~unordered for c in plain]
    for column, conditions in enumerate((plain, ordered, [c | unordered for c in plain])):
        assert (given[:, column] == sum(c.astype(int) << i for i, c in enumerate(conditions))).all(), column
    assert (given[:, 3] == np.isnan(x) + 2 * (x == np.inf) + 4 * (x == -np.inf)).all()


def test_functions(run, fmt):
    """All patterns: roots and roundings are exact, the others differ by one in the last place at most."""
    numbers = fmt.of_bits(BITS)
    x = fmt.values(numbers)
    given = run("functions", numbers, width=16)
    oracles = [np.sqrt, lambda v: 1 / np.sqrt(v), lambda v: 1 / v, np.exp, np.exp2, lambda v: 10.0**v, np.log, np.log2]
    oracles += [np.log10, np.sin, np.cos, np.trunc, np.ceil, np.floor, np.rint, np.tanh]
    for column, oracle in enumerate(oracles):
        bits, expected = given[:, column].view(np.uint16).astype(int), rounded(fmt, oracle(x)).astype(int)
        slack = 0 if oracle in (np.sqrt, np.trunc, np.ceil, np.floor, np.rint) else 1
        wrong = np.flatnonzero(np.abs(bits - expected) > slack)
        assert wrong.size == 0, (column, [(x[i], hex(bits[i]), hex(expected[i])) for i in wrong[:5]])


def test_pairs_are_two_numbers(run, fmt):
    """Each function and operator of a pair does to its halves what that of a number does."""
    a, b = operands(fmt, 4000, 6)
    c, _ = operands(fmt, 4000, 7)
    both = [np.stack([v, np.roll(v, 1)], axis=1) for v in (a, b, c)]
    assert not run("pairs", *both, width=1, dtype=np.int32, file=PAIRS).any()


def test_oddments(bench, kernel):
    """Bits as integers, sizes, constants, volatile variables, conversions between the formats."""
    out = bench.place(np.zeros(8, np.int32))
    bench.launch(kernel("oddments"), out, block=1)
    assert list(out.read()) == [1] * 8


def test_atomic_add(bench, fmt, kernel):
    """From several blocks at once; the total is a whole number that the format holds."""
    number, pair = bench.place(np.zeros(1, fmt.dtype)), bench.place(np.zeros((1, 2), fmt.dtype))
    bench.launch(kernel("totals"), number, pair, grid=4, block=32)
    assert fmt.values(number.read()) == [128]
    assert fmt.values(pair.read()).tolist() == [[128, 256]]


WIDTHS = (1, 2, 4, 8, 16, 32, 0)  # 0: the call does without
ARGUMENTS = (*range(33), 63, -1, -7)
MASKS = (FULL, 0x0000FFFF, 0xAAAAAAAA, 0xFF00FF0F)


def test_shuffles(bench, fmt, kernel):
    """Every kind, width and argument, of numbers and pairs; what no lane defines is NaN, in both halves."""
    cases = list(itertools.product(range(len(KINDS)), WIDTHS, ARGUMENTS, MASKS))
    kinds, widths, arguments, masks = (np.array(column) for column in zip(*cases, strict=True))
    tables = [kinds.astype(np.int32), widths.astype(np.int32), arguments.astype(np.int32), masks.astype(np.uint32)]
    numbers = bench.place(np.zeros((len(cases), 32), fmt.dtype), name="numbers")
    pairs = bench.place(np.zeros((len(cases), 32, 2), fmt.dtype), name="pairs")
    placed = [bench.place(table, Role.IN, "table") for table in tables]
    program = kernel("shuffles")
    findings = bench.launch(program, *placed, numbers, pairs, grid=len(cases))
    expected = np.zeros((len(cases), 32))
    pairs_expected = np.zeros((len(cases), 32, 2))
    for row, (kind, width, argument, mask) in enumerate(cases):
        for lane in range(32):
            source = source_lane(kind, width or 32, argument, lane)
            if not mask >> lane & 1:
                continue
            defined = mask >> source & 1
            expected[row, lane] = 100 + source if defined else np.nan
            pairs_expected[row, lane] = (source, -source - 1) if defined else (np.nan, np.nan)
    np.testing.assert_array_equal(fmt.values(numbers.read()), expected)
    np.testing.assert_array_equal(fmt.values(pairs.read()), pairs_expected)
    assert findings.undefined_reads == 2 * np.isnan(expected).sum() > 10000


@pytest.fixture
def takes(bench, fmt, kernel):
    """A kernel with each kind of parameter, and arguments that fit."""
    two = np.ones(2, fmt.dtype)
    arrays = [bench.place(x, name=name) for name, x in (("out", two), ("in", two), ("pair", two.reshape(1, 2)))]
    program = kernel("takes")
    return program, [*arrays, fmt.dtype.type(2.5), bench.place(np.zeros(1, np.int32), name="integers")]


def test_arguments_of_a_wrong_type(bench, fmt, takes):
    """Each is refused by a sentence with both types, the other format above all."""
    program, arguments = takes
    other = BFLOAT16 if fmt is HALF else HALF
    parameters = [f"{fmt.number} *", f"const {fmt.number} *", f"{fmt.pair} *", fmt.number, "int *"]
    strangers = [(other.dtype, other.number), (np.int16, "short"), (np.uint16, "unsigned short"), (np.float32, "float")]
    for number, parameter in enumerate(parameters):
        for dtype, name in [*strangers, (fmt.dtype, fmt.number)]:
            if (dtype == fmt.dtype) == (parameter != "int *"):
                continue
            value = np.dtype(dtype).type(1)
            given = f"a scalar of type {name}"
            if number != 3:
                value, given = bench.place(np.ones(2, dtype), name="stranger"), f"the array 'stranger' of {name}"
            passed = [*arguments[:number], value, *arguments[number + 1 :]]
            with pytest.raises(LaunchError) as caught:
                bench.launch(program, *passed, block=1)
            assert str(caught.value) == f"argument {number + 1} is '{parameter}', the YAML passes {given}"


def test_the_headers_are_part_of_the_key():
    """A change of any native file that a kernel can reach makes a new binary."""
    reached = [path for path in NATIVE.rglob("*.h") if path.parent.name not in ("checked", "runtime")]
    text = _text_of_sources(*_SHIM)
    assert all(f"{path.relative_to(NATIVE)}\0" in text for path in reached)


def compiled_by_nvcc(file, tmp_path, *flags):
    """What nvcc says of a file."""
    command = ["nvcc", "-ptx", "-arch=sm_90", "-o", str(tmp_path / "out.ptx"), str(file), *flags]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=280)


@pytest.mark.nvcc
def test_nvcc_compiles_all_that_is_offered(fmt, tmp_path):
    """What runs here is what CUDA's own headers have."""
    (tmp_path / "both.cu").write_text(f'#include "{FILE}"\n#include "{PAIRS}"\n')
    macros = [f"-D{name}={value}" for name, value in fmt.macros]
    done = compiled_by_nvcc(tmp_path / "both.cu", tmp_path, "-I", str(KERNELS), *macros)
    assert done.returncode == 0, done.stderr


AMBIGUOUS = KERNELS / "misuse" / "ambiguous.cu"
REFUSED = {str(line) for line in range(4, 13)}


def test_what_cuda_finds_ambiguous_is_ambiguous_here(bench):
    """A kernel that runs here is not refused by nvcc for its conversions."""
    with pytest.raises(CompileError) as caught:
        bench.load(bench.source(AMBIGUOUS, "kernel"))
    assert set(re.findall(r"ambiguous\.cu:(\d+):.* error: ", caught.value.log)) == REFUSED


@pytest.mark.nvcc
def test_nvcc_refuses_the_same(tmp_path):
    """These lines are nvcc's."""
    said = compiled_by_nvcc(AMBIGUOUS, tmp_path).stderr
    assert set(re.findall(r"ambiguous\.cu\((\d+)\): error", said)) == REFUSED
