"""Parameters and expressions: their forms, numbers, words and truth values of a kernel's own, and what cannot be read."""

import json

import pytest
from outcomes import altered, refusal
from outcomes import rows as table
from support import ROOT, case_of, read_kernel, shipped

from runner.display.text import value_of
from runner.errors import UsageError
from runner.kernel.declaration import VOCABULARY, Kind, canonical, value_text, variables
from runner.kernel.expression import Expression
from runner.record.run import read

OWN = ROOT / "tests" / "kernels" / "own"
PATH = OWN / "kernel" / "scaled.yaml"


def test_values_of_any_kind_are_swept(runner):
    """Numbers, words and truth values are overrides, macros, conditions and columns; a value has one case."""
    swept = ["scale=0.1,0.5,1.50,1.5,2,2.0", "fused=true,false", "mode=fast,exact", "device=cpu"]
    done = runner("--config-dir", OWN, "kernel=scaled", *swept)
    assert done.code == 0, done.err
    rows = table(done.folder)
    assert len(rows) == 4 * 2 * 2
    assert {row["scale"] for row in rows} == {"0.1", "0.5", "1.5", "2"}
    assert {row["shift"] for row in rows} == {"0.5"}
    assert {(row["fused"], row["mode"]): row["status"] for row in rows if row["scale"] != "0.1"} == {
        ("true", "fast"): "ok", ("true", "exact"): "ok", ("false", "fast"): "ok", ("false", "exact"): "skipped",
    }  # fmt: skip
    assert all("scale > 0.25 does not hold for scale=0.1" in row["reason"] for row in rows if row["scale"] == "0.1")
    run = read(done.folder)
    assert set(run.varying) == {"kernel", "scale", "fused", "mode"}
    assert {value_of("scale", row) for row in run.frame.to_dict("records")} == {"0.1", "0.5", "1.5", "2"}
    assert ">1.5</td>" in (done.folder / "report.html").read_text()
    parameters = json.loads((done.folder / "0" / "case.json").read_text())["parameters"]
    assert (parameters["fused"], parameters["mode"], parameters["shift"]) == (True, "fast", 0.5)
    again = runner(str(done.folder), module="runner.repeat")
    assert "9 same" in again.out, again.err


def test_values_of_any_kind_reach_the_kernel(bench):
    """A number, a word and a truth value are right as argument, macro and template argument."""
    kernel = read_kernel(PATH)
    given = [
        {"scale": 1.7, "shift": 2},
        {"fused": True, "mode": "exact", "shift": -0.3},
        {"fused": "true", "scale": 2},
    ]
    assert [o.status for o in bench.run_all([case_of(kernel, **g) for g in given])] == ["ok"] * 3
    assert "mode=slow is not a value of scaled; allowed: fast, exact" in case_of(kernel, mode="slow").excluded


@pytest.mark.parametrize(
    ("old", "new", "sentence"),
    [
        ('mode == "fast" or fused', 'mode == "fsat" or fused', "'fsat' is not a value of mode; allowed: fast, exact"),
        ("where(fused, x", "where(mode == 'slow', x", "'slow' is not a value of mode; allowed: fast, exact"),
        ("{default: fast, allowed: [fast, exact]}", "fast", "parameters.mode: 'fast' is neither a number nor true"),
        ("ceil_div(size, block)", "ceil_div(size, block) * shift / 2", "uses /; write // or ceil_div"),
    ],
)
def test_a_mistake_about_a_kind_is_one_sentence(bench, tmp_path, old, new, sentence):
    """A word that is none of the list, a word without a list, and a number that is no integer are refused."""
    assert sentence in refusal(bench, altered(PATH, tmp_path, (old, new)))


def test_a_whole_number_is_one_case_however_its_kind_writes_it(tmp_path):
    """A parameter that was an integer may become a real one, and its rows still join."""
    real = read_kernel(altered(PATH, tmp_path, ("scale: 3", "scale: {default: 3, kind: real}")))
    assert case_of(read_kernel(PATH)).id == case_of(real).id != case_of(real, scale=3.5).id


def test_a_number_that_must_be_an_integer_is_one(tmp_path):
    """A grid and an int may be made of real numbers, as long as the result is whole."""
    grid = ("grid: ceil_div(size, block)", "grid: size * shift - block")
    path = altered(PATH, tmp_path, grid, ("value: size}", "value: size * shift}"))
    case = case_of(read_kernel(path))
    assert (case.grid, case.arguments()[-1].numbers) == ((436, 1, 1), (500,))
    with pytest.raises(UsageError, match=r"'size \* shift - block' gives 436\.5; expected an integer"):
        case_of(read_kernel(path), size=1001)


@pytest.mark.parametrize(
    ("kind", "same"),
    [
        (Kind.NUMBER, [(1.5, "1.50", "1.5", "3/2"), (1000, "1e3", 1000.0, "1000.0", "1_000"), (0.001, "1e-3")]),
        (Kind.REAL, [(2.0, "2", 2, "2.00", "2**1"), (0.0, "-0.0", 0), (1 / 3, "1/3")]),
        (Kind.BOOLEAN, [(True, "true", "True"), (False, "false")]),
    ],
)
def test_a_value_has_one_form(kind, same):
    """However a value is written, its canonical form, and the form's type, are the same."""
    for wanted, *ways in same:
        for text in ways:
            found = canonical("mine", kind, text)
            assert (found, type(found)) == (wanted, type(wanted))


@pytest.mark.parametrize("text", ["010", "inf", "1e999", "1/0", "0x1p3", "1.2.3", "", None, [1], "9" * 400])
@pytest.mark.parametrize("kind", [Kind.NUMBER, Kind.REAL])
def test_what_is_no_number_is_refused(kind, text):
    """A number is finite, and written in one of the documented ways."""
    with pytest.raises(UsageError, match="expected a number"):
        canonical("mine", kind, text)


@pytest.mark.parametrize(
    ("text", "elements"),
    [
        ("16Mi", 2**24), ("16M", 16_000_000), ("2.5Ki", 2560), ("2**24", 2**24), ("1<<24", 2**24), (16777216, 2**24),
        ("16_777_216", 2**24), ("0x10", 16), ("0b101", 5), (1e6, 10**6), ("1e6", 10**6), ("16*1024", 16384),
        ("4096x8192", "4096x8192"), (" 64 ", 64), ("2**20 - 1", 2**20 - 1),
    ],
)  # fmt: skip
def test_a_size_is_read_in_every_form(text, elements):
    """Every documented way to write a size gives its one canonical form."""
    assert canonical("size", Kind.SIZE, text) == elements


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("size", "010"), ("size", "2.5"), ("size", "1e99"), ("size", "-1"), ("size", "9**9**9"), ("size", True),
        ("size", [1, 2]), ("size", {}), ("size", "4x0"), ("size", "__import__('os')"), ("size", "1.2.3"), ("size", ""),
        ("block", "32xx16"), ("block", "256 threads"), ("block", -32), ("block", "1,2"), ("block", "8x8x2x2"), ("block", "32x"),
        ("size", "16Ti"), ("size", "0.3Ki"), ("size", "2**63"), ("size", "1//0"), ("mask", "full"), ("block", True), ("mask", "0x1ffffffff"),
        ("mask", -1), ("mask", "0xfg"), ("width", "wide"), ("width", 1.5), ("dtype", "float16x"), ("dtype", 4),
        ("fill", "../../etc/passwd"), ("fill", ""), ("delta", "2**64"), ("unroll", None),
    ],
)  # fmt: skip
def test_what_cannot_be_read_is_one_sentence(name, value):
    """A value that cannot be read is refused with its name, itself, and what is expected."""
    with pytest.raises(UsageError) as raised:
        canonical(name, VOCABULARY[name], value)
    told = str(raised.value)
    assert told.startswith(f"{name}=")
    assert ": expected " in told
    assert "\n" not in told


@pytest.mark.parametrize(
    ("value", "text"), [("32x1", "32"), (256, "256"), ("2**8", "256"), ("32x16", "32x16"), ("0x10", "16")]
)
def test_a_block_has_one_form(value, text):
    """A block of one row is written without the row; `0x10` is 16 threads, not 0 by 10."""
    assert canonical("block", Kind.BLOCK, value) == text


def test_expressions_see_the_parts_of_a_value():
    """`block` and `size` also give their dimensions."""
    assert variables("block", Kind.BLOCK, "32x16") == {"block": 512, "block_x": 32, "block_y": 16, "block_z": 1}
    assert variables("size", Kind.SIZE, "3x5") == {"size": 15, "rows": 3, "cols": 5}


def test_values_are_written_as_people_write_them():
    """Masks are shown in hexadecimal, powers of two as such."""
    assert value_text(Kind.MASK, 255) == "0x000000ff"
    assert value_text(Kind.SIZE, 2**24) == "2**24"
    assert value_text(Kind.SIZE, 1000) == "1000"


KNOWN = {"block": 256, "size": 1000, "mask": 0xFF, "dtype": "float64"}


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("ceil_div(size, block)", 4), ("block * 2 + 1", 513), ("-size // 3", -334), ("2**10 % 7", 2), ("~0 & mask", 255),
        ("1 << 4 | 1", 17), ("block ^ block", 0), ("popcount(mask)", 8), ("itemsize(dtype) * block", 2048),
        ("min(size, block, 7)", 7), ("max(1, 2)", 2), ("0x10", 16), ("block % 32 == 0 and size > 1", True),
        ("not (1 < size < 10)", True), ("block == 1 or size == 1000", True), ("size >> 3", 125),
    ],
)  # fmt: skip
def test_expressions_mean_what_they_do_in_python(text, value):
    """Every documented operator and function gives Python's own result; only parameters are names."""
    assert Expression(text, "here")(KNOWN) == value
    assert Expression("ceil_div(size, block * 2)", "here").names == {"size", "block"}


@pytest.mark.parametrize(
    "text",
    [
        "__import__('os').system('true')", "size.bit_length()", "[1][0]", "lambda: 1", "open('x')", "1 if size else 2",
        "size := 1", "f'{size}'", "1.5 * size", "block block", "", "x" * 10 + "(", "min(*size)", "min(size, key=block)",
        "(" * 500 + ")" * 500, "exec('1')", "size if", "{}", "...", "None",
    ],
)  # fmt: skip
def test_nothing_else_is_an_expression(text):
    """What is no expression of the documented kind is refused when it is read, before any value is known."""
    with pytest.raises(UsageError):
        Expression(text, "here")


@pytest.mark.parametrize(
    "text",
    ["1 // 0", "size % 0", "9**9**9", "1 << 1000", "2**-1", "2**128 * 2**64", "dtype + 1", "nope", "itemsize(7)"],
)
def test_what_cannot_be_evaluated_says_so(text):
    """A division by zero, a number without bounds or an unknown name is a sentence that quotes the expression."""
    with pytest.raises(UsageError, match="here: '"):
        Expression(text, "here")(KNOWN)


SHFL = shipped("reduceShfl")


ONE_CASE = [
    ({"size": "1Mi", "block": "2**8"}, {"size": "2**20", "block": 256}),
    ({}, {"width": 32, "mask": "0xffffffff", "dtype": "int"}),  # the defaults
    ({}, {"unroll": 8}),  # which the kernel does not read
    ({"fill": "seed_rand"}, {"fill": "c_rand"}),  # a former name
]
OTHER_CASES = [{"block": 128}, {"size": 7}, {"width": 8}, {"mask": 0xFF}, {"dtype": "float32"}, {"seed": 1}]


@pytest.mark.parametrize(("one", "other"), ONE_CASE)
def test_what_is_the_same_is_one_case(one, other):
    """However it is written, or not written."""
    assert case_of(SHFL, **one).id == case_of(SHFL, **other).id


@pytest.mark.parametrize("change", OTHER_CASES)
def test_another_value_is_another_case(change):
    """Every parameter that the kernel reads is part of the identity, and so is the seed of its inputs."""
    assert case_of(SHFL, **change).id != case_of(SHFL).id


def test_the_identity_is_stable():
    """The hash is a contract: results of last year join with those of today."""
    assert case_of(SHFL).id == "04ca93178d7e"
    assert case_of(SHFL, fill="random").id == "e30711dfddb6"
    assert case_of(shipped("transposeTile"), compile_options="none").id == "da917c56c67d"
    assert case_of(shipped("reduceSmem"), cache="l1").id == "83ffcc453f40"
    assert case_of(SHFL, compile_options="-ftz=true").id != case_of(SHFL).id


@pytest.mark.parametrize(
    ("requested", "reason"),
    [
        ({"block": 100}, "whole warps"), ({"block": 2048}, "1 to 1024"), ({"block": 0}, "1 to 1024"),
        ({"width": 12}, "1, 2, 4, 8, 16 or 32"), ({"width": 64}, "1, 2, 4, 8, 16 or 32"), ({"width": 0}, "1, 2, 4"),
        ({"width": -4}, "1, 2, 4"), ({"mask": 0}, "no lane"), ({"mask": 0x00FF00FF, "width": 16}, "whole segments"),
        ({"mask": 1}, "whole segments"), ({"size": 0}, "nothing to do"), ({"dtype": "uint64"}, "is not a value of"),
        ({"size": "2**40", "block": 32}, "blocks in x"), ({"size": "2**62", "block": 1024}, "blocks in x"),
    ],
)  # fmt: skip
def test_what_cuda_leaves_undefined_is_excluded_with_its_reason(requested, reason):
    """A readable combination that cannot be run is a case with a reason, not an error."""
    assert reason in case_of(SHFL, **requested).excluded


def test_a_reason_names_the_offending_values():
    """The reason has the condition and the values for which it does not hold."""
    assert "(block % 32 == 0 does not hold for block=100)" in case_of(SHFL, block=100).excluded


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ("shape: size - 5000", "would have the shape (-4000,)"), ("offset: 0 - 4", "at offset -4"),
        ("shape: size * 2**60", "would have the shape"), ("value: size * 2**40", "is not a valid int32"),
        ("value: 2.5", "is not a valid int32"), ("shared: 0 - 1", "shared memory would be -1"), ("read: 0 - 8", "bytes_read"),
    ],
)  # fmt: skip
def test_what_no_machine_can_launch_is_excluded(change, reason, tmp_path):
    """Negative shapes, scalars out of range and the like are skipped with their numbers, before anything is run."""
    parts = {"shape": "size", "offset": "0", "value": "size", "shared": "0", "read": "0"}
    parts |= dict([change.split(": ", 1)])
    (tmp_path / "mine.cu").write_text("")
    (tmp_path / "mine.yaml").write_text(
        f"parameters: {{size: 1000}}\ngrid: 1\nshared: {parts['shared']}\nreference: {{x: x}}\n"
        f"bytes: {{read: {parts['read']}}}\narguments:\n"
        f"  - {{name: x, role: inout, dtype: int32, shape: {parts['shape']}, fill: ones, offset: {parts['offset']}}}\n"
        f"  - {{name: n, scalar: int32, value: {parts['value']}}}\n"
    )
    assert reason in case_of(read_kernel(tmp_path / "mine.yaml")).excluded
