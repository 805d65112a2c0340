"""What a kernel's YAML says about its verdict: `tolerance`, `compute`, `fast_math`, `refill`; and what is reported."""

import shutil

import ml_dtypes
import numpy as np
import pytest
import yaml
from support import ROOT, case_of

from runner.bounds.expected import Tolerance
from runner.device.config import DeviceConfig
from runner.errors import UsageError
from runner.kernel import from_yaml
from runner.kernel.check import check, power
from runner.kernel.extra_inputs import exact_set
from runner.kernel.reference import ExpectedArray, expect
from runner.sweep.proof import why_unproven
from runner.sweep.trial import contents

FOLDER = ROOT / "tests" / "kernels" / "verdicts"
DECLARED = yaml.safe_load((FOLDER / "scaled.yaml").read_text())


@pytest.fixture
def declared(tmp_path):
    """A kernel of that YAML, with further keys."""
    shutil.copy(FOLDER / "scaled.cu", tmp_path)
    return lambda **keys: from_yaml.read("scaled", {**DECLARED, **keys}, tmp_path / "scaled.yaml")


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("tolerance", {"rtol": -1}, "tolerance: rtol: expected a number of 0 or more, such as 1e-5, not '-1'"),
        ("tolerance", {"atol": "inf"}, "atol: expected a number of 0 or more"), ("tolerance", {"ulp": True}, "not 'true'"),
        ("tolerance", {"relative": 1}, "'relative' is not a valid key"), ("tolerance", {}, "one or more of rtol, atol and ulp"),
        ("tolerance", 1e-5, "expected a mapping (key: value)"), ("compute", "int32", "'int32' is not a float dtype; allowed: float32"),
        ("fast_math", "yes", "fast_math: expected true or false, not 'yes'"),
    ],
)  # fmt: skip
def test_mistakes_in_the_keys_are_one_sentence(declared, key, value, message):
    """They name the file, the key and what is allowed."""
    with pytest.raises(UsageError, match=r"scaled\.yaml: ") as mistake:
        declared(**{key: value})
    assert message in str(mistake.value)


@pytest.mark.parametrize(
    ("tolerance", "right", "wrong"),
    [
        (Tolerance(rtol=1e-3), 1.0009, 1.002), (Tolerance(atol=0.5), 1.49, 1.51), (Tolerance(ulp=2), 1 + 2**-22, 1 + 2**-21),
        (Tolerance(rtol=1e-3, ulp=2), 1.0009, 1.002), (Tolerance(), 1.0, 1 + 2**-23),
    ],
)  # fmt: skip
def test_a_tolerance_replaces_the_bound(tolerance, right, wrong):
    """Within atol + rtol * |expected|, or within so many ulp; wider or narrower than the bound."""
    expected = {"y": ExpectedArray(np.ones(1), error=0.01)}
    assert check({"y": np.array([right], np.float32)}, expected, tolerance=tolerance).ok
    verdict = check({"y": np.array([wrong], np.float32)}, expected, tolerance=tolerance)
    assert f"(allowed {tolerance})" in verdict.reason


def test_a_mismatch_says_what_is_allowed_and_where_the_largest_error_is():
    """And what to do if the kernel is meant to be less exact."""
    expected = {"y": ExpectedArray(np.ones(4), error=1e-6)}
    verdict = check({"y": np.array([1, 1 + 2e-6, 1 + 4e-6, 1], np.float32)}, expected)
    assert verdict.reason == (
        "2 of 4 elements differ: y[1] is 1.00000203, expected 1 (allowed 1.1e-06); y[2] is 1.00000405, expected 1; the "
        "largest error is 34 ulp, at y[2]; set 'tolerance' in the YAML if the kernel is meant to be less exact"
    )


@pytest.mark.parametrize("dtype", [np.float32, np.float16, ml_dtypes.bfloat16])
@pytest.mark.parametrize(("wrong", "factor"), [(100, 2.0), (60, 1.05), (1, 1.5)])
def test_no_tolerance_is_proposed_for_an_error_that_no_rounding_explains(dtype, wrong, factor):
    """An element that is far off, or many that are somewhat off, are a defect of the kernel."""
    got = np.ones(100)
    got[:wrong] *= factor
    verdict = check({"y": got.astype(dtype)}, {"y": ExpectedArray(np.ones(100), error=1e-6)})
    assert verdict.mismatches == wrong
    assert "tolerance" not in verdict.reason


@pytest.mark.parametrize(("found", "expected"), [(np.nan, 1), (1, np.nan), (np.inf, 1)])
def test_a_tolerance_is_proposed_only_where_one_could_help(found, expected):
    """No tolerance allows NaN or infinity, and a case that has a tolerance needs no advice to set one."""
    verdict = check({"y": np.array([found], np.float32)}, {"y": ExpectedArray(np.array([expected]), error=0.1)})
    assert verdict.mismatches == 1
    assert "set 'tolerance'" not in verdict.reason
    ones = {"y": ExpectedArray(np.ones(1), error=0.1)}
    assert "set 'tolerance'" not in check({"y": np.array([3], np.float32)}, ones, tolerance=Tolerance(atol=1)).reason


def test_a_boolean_that_is_neither_true_nor_false_is_told_by_its_byte():
    """Python calls each byte but 0 true: `True, expected True` would explain nothing."""
    got = np.array([1, 5, 0], np.uint8).view(np.bool_)
    expected = {"y": ExpectedArray(np.array([True, True, False]))}
    assert "y[1] is the byte 5, expected True" in check({"y": got}, expected).reason


def test_a_list_is_an_array_and_one_of_undefined_elements_is_noted(declared, tmp_path):
    """A case of which nothing was compared must not look like one that was checked."""
    (tmp_path / "own.py").write_text(
        "import numpy as np\nfrom runner.kernel.reference import ExpectedArray\n"
        "def f(inputs, p, grid):\n"
        "    return {'y': ExpectedArray(inputs['x'].tolist(), defined=np.zeros(inputs['x'].shape, bool))}\n"
    )
    case = case_of(declared(reference="own.f"))
    given = contents(case)
    outputs = expect(case, given).outputs
    assert check({"y": given["x"] + 1}, outputs).ok
    powers = power({"y": (given["x"].shape, given["x"].dtype)}, outputs)
    assert why_unproven(case, powers).startswith("no element of 'y' is compared")


def test_a_plain_dictionary_allows_16_ulp_and_an_expected_array_its_own_error(declared, tmp_path):
    """So a reference in NumPy's float32 passes against fmaf."""
    (tmp_path / "own.py").write_text(
        "from runner.kernel.reference import ExpectedArray\n"
        "def plain(inputs, p, grid): return {'y': 3 * inputs['x'] + inputs['w']}\n"
        "def bounded(inputs, p, grid): return {'y': ExpectedArray(3 * inputs['x'], error=0.5)}\n"
    )
    case = case_of(declared(reference="own.plain"))
    x, w = (contents(case)[n].astype(np.float64) for n in "xw")
    assert check({"y": (3 * x + w).astype(np.float32)}, expect(case, contents(case)).outputs).ok
    assert not check({"y": (3.0001 * x + w).astype(np.float32)}, expect(case, contents(case)).outputs).ok
    case = case_of(declared(reference="own.bounded"))
    assert check({"y": (3 * x + 0.49).astype(np.float32)}, expect(case, contents(case)).outputs).ok
    assert not check({"y": (3 * x + 0.51).astype(np.float32)}, expect(case, contents(case)).outputs).ok


def test_a_kept_reference_finds_modules_by_their_former_names(declared, tmp_path):
    """Run folders of earlier versions have such references, and `repeat` imports them."""
    (tmp_path / "own.py").write_text(
        "from runner.kernel.dtypes import is_float\n"
        "from runner.kernel.pieces import in_pieces\n"
        "from runner.kernel.precision import Arithmetic, grain, wider\n"
        "from runner.kernel.reference import Array, Expected, ExpectedArray, Inputs, Parameters, cached_per_array, wider\n"
        "def f(inputs, p, grid): return {'y': inputs['x']}\n"
    )
    case = case_of(declared(reference="own.f"))
    assert list(expect(case, contents(case)).outputs) == ["y"]


def test_cases_share_a_reference_unless_it_differs(declared):
    """The block's size changes no expression; a parameter that it reads does, and so do the types and `depth`."""

    def reference(**keys):
        case = case_of(declared(**keys))
        return expect(case, contents(case))

    parameters = DECLARED["parameters"]
    first = reference(parameters=parameters)
    assert reference(parameters={**parameters, "block": 64}) is first
    assert reference(parameters=parameters, depth=3) is not first
    assert reference(parameters=parameters, compute="float64") is not first
    assert reference(parameters=parameters, reference={"y": "x * 0.1 + block"}) is not first
    assert reference(parameters=parameters, undefined_where={"y": "x < 0.5"}) is not first
    scaled = reference(parameters=parameters, let={"scaled": "x * 0.1"}, reference={"y": "scaled"})
    assert reference(parameters=parameters, let={"scaled": "x * 0.2"}, reference={"y": "scaled"}) is not scaled


def test_compute_says_in_which_type_the_kernel_computes(declared):
    """Half arrays allow half's errors after float's; `compute: float32` allows float's, and one rounding of the result."""
    reference = {"y": "x * 0.1 * x * 0.1 * x"}
    ones = {"x": np.ones(64, np.float16)}
    assumed, single = (
        expect(case_of(declared(reference=reference, **more), dtype="float16"), ones)
        for more in ({}, {"compute": "float32"})
    )
    assert single.looser is None

    def width(expected):
        low, high = expected.outputs["y"].bounds
        return float((high - low)[0])

    assert width(assumed.looser()) > 3 * width(assumed) == 3 * width(single) > 0


@pytest.mark.parametrize("option", ["-use_fast_math", "--use_fast_math", "-ftz=true", "--prec-div=false"])
def test_options_of_nvcc_that_cost_digits_are_known(option, monkeypatch):
    """Also from the environment variables that nvcc reads."""
    assert DeviceConfig(nvcc_options=["-O3", option]).fast_math
    assert not DeviceConfig(nvcc_options=["-O3"]).fast_math
    monkeypatch.setenv("NVCC_APPEND_FLAGS", option)
    assert DeviceConfig().fast_math


def test_only_random_floats_get_further_contents(declared):
    """Indices, and arrays with `refill: false`, keep theirs; the new ones lie in the range of the old ones."""
    case = case_of(declared())
    own = contents(case)
    other = exact_set(case, 1, sided=False).contents(case, own)
    assert other["w"] is own["w"]
    assert other["at"] is own["at"]
    assert set(np.abs(other["x"])) <= {0.25, 0.5, 0.75, 1.0}
    assert not np.array_equal(other["x"], exact_set(case, 2, sided=False).contents(case, own)["x"])
