"""Parameters of a kernel's own: numbers, words and truth values, each value with one form."""

import json

import pytest
from outcomes import altered, refusal
from outcomes import rows as table
from support import ROOT, case_of, read_kernel

from runner.display.text import value_of
from runner.errors import UsageError
from runner.kernel.declaration import Kind, canonical
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


@pytest.mark.parametrize(
    ("override", "sentence"),
    [
        ("scale=wide", "scale=wide: expected a number such as 8, 2**3, 1.5 or 1e-3"),
        ("scale=nan", "scale=nan: expected a number"),
        ("repeats=1.5", "repeats=1.5: expected an integer"),
        ("fused=perhaps", "fused=perhaps: expected true or false"),
        ("shift=true", "shift=true: expected a number such as 1.5"),
        ("mode=slow", "mode=slow is not a value of scaled; allowed: fast, exact"),
    ],
)
def test_a_wrong_value_is_one_sentence(runner, override, sentence):
    """What is no value of the parameter's kind is refused, or skipped, with what is allowed."""
    done = runner("--config-dir", OWN, "kernel=scaled", override, "device=cpu")
    assert done.code == 2
    assert sentence in done.err + done.out
    assert "Traceback" not in done.err


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
