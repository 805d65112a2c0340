"""Parameters that are computed from others: a block from its tiles, in each case and at each size."""

import json

import numpy as np
import pytest
from mistakes import write_files
from support import MINE_CU as CU
from support import ROOT, case_of, read_kernel
from support import mine_yaml as yaml_of

from runner.commands.kernel_yaml import kernel_text
from runner.errors import UsageError
from runner.files.limited_yaml import load_yaml
from runner.kernel.declaration import Kind
from runner.kernel.extra_inputs import extra_inputs
from runner.kernel.inputs import contents
from runner.kernel.reference import expect
from runner.kernel.sizes import other_sizes

GEMM = ROOT / "tests" / "kernels" / "gemm" / "kernel" / "tiledGemm.yaml"


@pytest.fixture
def kernel(tmp_path):
    """The kernel `mine` with these parameters."""

    def read(parameters, **keys):
        write_files(tmp_path, {"mine.cu": CU, "mine.yaml": yaml_of(parameters=parameters, **keys)})
        return read_kernel(tmp_path / "mine.yaml")

    return read


def test_a_block_follows_from_its_tiles():
    """Each case computes it; a value that is given counts."""
    gemm = read_kernel(GEMM)
    assert case_of(gemm).block == (64, 1, 1)
    assert case_of(gemm, BM=64).block == (128, 1, 1)
    assert case_of(gemm, BM=64, block=32).block == (32, 1, 1)
    assert case_of(gemm, BM=64).id == case_of(gemm, BM=64, block=128).id, "equal values are one case"
    assert "a block of 4096 threads" in case_of(gemm, BM=128, BN=128, TM=2, TN=2).excluded


def test_a_block_may_be_other_parameters(kernel):
    """The names that another tool gives to the threads of a block stay."""
    mine = kernel("{block: [block_size_x, block_size_y], block_size_x: 32, block_size_y: 4, size: 1000}")
    assert case_of(mine, block_size_y=2).block == (32, 2, 1)
    assert case_of(kernel("{block: block_size_x, block_size_x: 32, size: 1000}")).block == (32, 1, 1)


def test_a_given_value_needs_no_expression(kernel):
    """A case whose expression has no value runs with the value that it is given, and at other sizes, too."""
    mine = kernel("{block: 128 // tile, tile: 2, size: 1000}")
    case = case_of(mine, tile=0, block=32)
    assert (case.block, case.excluded) == ((32, 1, 1), "")
    assert {other.block for other in other_sizes(case, 0.0).cases} == {(32, 1, 1)}


def test_a_fraction_skips_the_case():
    """A block of 85 1/3 threads is no mistake of the file: the case says so, and others run."""
    excluded = case_of(read_kernel(GEMM), TM=3).excluded
    assert excluded == "block = BM * BN / (TM * TN) gives 85.3333, which is not an integer"


def test_computed_values_may_need_each_other_and_definitions(kernel):
    """They are computed in the order in which they need each other; a list gives two dimensions."""
    mine = kernel(
        "{block: [wide, 'wide // 4'], wide: tile * 2, tile: 16, size: 'block * steps', steps: {default: twice + 1, kind: "
        "integer}, area: '1.5 * wide', big: {default: wide > 8, kind: boolean}}",
        let="{twice: 2 * tile}",
    )
    case = case_of(mine)
    assert dict(case.parameters) == {
        "block": "32x8", "size": 8448, "wide": 32, "tile": 16, "steps": 33, "area": 48, "big": True,
        "cache": "none", "compile_options": "none",
    }  # fmt: skip
    assert mine.parameter("tile").kind is Kind.INTEGER, "an integer is computed from it"
    assert case_of(mine, tile=8).block == (16, 4, 1)
    assert not case_of(mine).excluded, "two dimensions, as the default has two"


def test_a_computed_value_follows_to_other_sizes(kernel):
    """The check varies what the others follow from, and never leaves a size of before beside a new length."""
    mine = kernel(
        "{block: 64, high: 40, wide: 50, size: high * wide}",
        arguments="""
  - {name: in, role: in, dtype: int32, shape: [high, wide], fill: index}
  - {name: out, role: out, dtype: int32, shape: [high, wide]}
  - {name: n, scalar: int32, value: size}""",
    )
    others = other_sizes(case_of(mine), 0.0).cases
    assert len(others) > 5
    for other in others:
        values = dict(other.parameters)
        assert values["size"] == values["high"] * values["wide"]


def test_other_sizes_meet_constraints_on_computed_values(kernel):
    """The nearest values that the constraint allows replace the edges, although it names none of the varied ones."""
    mine = kernel("{block: 64, wide: 4096, size: 3 * wide}", constraints="{size % 96 == 0: whole warps of three}")
    found = [dict(other.parameters)["wide"] for other in other_sizes(case_of(mine), 0.0).cases]
    assert len(found) > 5
    assert all(wide % 32 == 0 for wide in found)


def test_the_branches_of_a_reference_are_searched_at_a_smaller_computed_size(kernel):
    """A smaller size takes with it what is computed from it, so the search is quick and finds numbers above 7."""
    mine = kernel(
        "{block: 64, size: 1Mi, wide: size // 1024}",
        arguments="""
  - {name: in, role: in, dtype: float32, shape: [1024, wide], fill: random}
  - {name: out, role: out, dtype: float32, shape: [1024, wide]}
  - {name: n, scalar: int32, value: size}""",
        reference="{out: 'where(in > 7, 7, in)'}",
    )
    assert any("hold" in each.label and "'in'" in each.label for each in extra_inputs(case_of(mine)).sets)


def test_a_right_kernel_with_a_computed_size_is_right_everywhere(bench, kernel):
    """It runs, with other sizes and extra inputs; one that stops early is found at them."""
    keys = {
        "arguments": """
  - {name: in, role: in, dtype: float32, shape: [high, wide], fill: random}
  - {name: out, role: out, dtype: float32, shape: [high, wide]}
  - {name: n, scalar: int32, value: size}""",
        "reference": "{out: 'where(in > 0, in, 0)'}",
    }
    mine = kernel("{block: 64, high: 64, wide: 64, size: high * wide}", **keys)
    source = "__global__ void mine(const float* in, float* out, int n)\n{\n    %s\n}\n"
    loop = "for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < %s; i += gridDim.x * blockDim.x)"
    mine.source.write_text(source % f"{loop % 'n'} out[i] = fmaxf(in[i], 0);")
    outcome = bench.run(case_of(mine))
    assert (outcome.status, outcome.reason) == ("ok", "")
    mine.source.write_text(source % f"{loop % 'n / 64 * 64'} out[i] = fmaxf(in[i], 0);")
    wrong = bench.run(case_of(mine))
    assert wrong.status == "mismatch"
    assert "wrong at" in wrong.reason


@pytest.mark.parametrize(
    ("parameters", "sentence"),
    [
        ("{block: tile * 2, tile: block // 2}", "is computed from itself: block -> tile -> block"),
        ("{block: block_x, size: 9}", "parameters.block: 'block_x': 'block' is computed from itself: block -> block"),
        ("{block: tile * 2, tile: 0, size: tile // tile}", "cannot be evaluated: integer division or modulo by zero"),
        ("{block: tile * nope, tile: 4}", "parameters.block: 'tile * nope' names 'nope', which is not a parameter; known:"),
        ("{block: tile * grid, tile: 4}", "names 'grid', which is not a parameter"),
        ("{block: 64, size: tile - 9, tile: 4}", "'tile - 9' gives size=-5: expected a number of elements"),
        ("{block: 64, half: {default: tile // 2, allowed: [4]}, tile: 4}", "parameters.half: the default 2 is not one of"),
        ("{block: [64, 128], size: 9}", "parameters.block: expected a default, not [64, 128]; write {default: 64, allowed: [64, 128]}, or 64x128 for a shape"),
        ("{block: 64, tile: [4, 8]}", "parameters.tile: expected a default, not [4, 8]; write {default: 4, allowed: [4, 8]}"),
        ("{block: 64, mode: fast}", "parameters.mode: 'fast' is neither a number nor true or false"),
    ],
)  # fmt: skip
def test_what_cannot_be_computed_is_one_sentence(parameters, sentence, kernel):
    """Circles, unknown names, wrong values, and lists of values instead of a default."""
    with pytest.raises(UsageError, match=":") as raised:
        kernel(
            parameters,
            arguments="[{name: out, role: out, dtype: int32, shape: 64}]",
            grid="1",
            reference="{out: arange(64)}",
        )
    assert sentence in str(raised.value)
    assert "\n" not in str(raised.value)


def test_a_word_is_a_word_although_a_parameter_has_its_name(kernel):
    """What parsed before parses to the same: `fast` is one of the words that are allowed."""
    mine = kernel("{block: 64, size: 1000, fast: 2, mode: {default: fast, allowed: [fast, exact]}}")
    assert (mine.parameter("mode").default, mine.parameter("mode").kind) == ("fast", Kind.CHOICE)


def test_show_says_how_a_value_is_computed():
    """The expression stands before the value of the defaults."""
    text = kernel_text(GEMM, load_yaml(GEMM.read_text()), [GEMM.parents[1]])
    assert "# block           = BM * BN / (TM * TN) = 64\n" in text


def test_a_constraint_on_a_computed_value_shapes_the_space_of_a_search(runner, tmp_path):
    """Combinations whose computed value breaks the constraint are not counted as legal."""
    text = yaml_of(parameters="{block: tile * many, tile: 8, many: 8, size: 1000}",
                   constraints="{block % 32 == 0 and block <= 128: few whole warps}")  # fmt: skip
    write_files(tmp_path, {"kernel/mine.cu": CU, "kernel/mine.yaml": text})
    done = runner("--config-dir", ".", "kernel=mine", "device=cpu", "hydra/sweeper=search",
                  "hydra.sweeper.sampler=grid", "tile=4,8,16", "many=2,8,16", "racecheck=none", "lines=all",
                  "hydra.sweeper.objective=global_load_sectors")  # fmt: skip
    assert done.code == 0, done.err
    assert json.loads((done.folder / "search.json").read_text())["legal"] == 6


def test_a_definition_over_parameters_may_be_a_fraction_for_a_reference(kernel):
    """`let` names a constant of the reference, which no integer of the launch needs."""
    mine = kernel(
        "{block: 64, size: 1000, smoothing: 0.125}",
        let="{share: smoothing / (size - 1), half: 0.5}",
        arguments="""
  - {name: in, role: in, dtype: float32, shape: size, fill: random}
  - {name: out, role: out, dtype: float32, shape: size}
  - {name: n, scalar: int32, value: size}""",
        reference="{out: half * in + share}",
    )
    case = case_of(mine)
    inputs = contents(case)
    expected = expect(case, inputs, fast=False).outputs["out"].values
    assert np.allclose(expected, inputs["in"] / 2 + 0.125 / 999)
