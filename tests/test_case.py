import pytest
from support import case_of, read_kernel, shipped

SHFL = shipped("reduceShfl")


SAME = [
    ({"size": "1Mi", "block": "2**8"}, {"size": "2**20", "block": 256}),
    ({}, {"width": 32, "mask": "0xffffffff", "dtype": "int"}),  # the defaults
    ({}, {"unroll": 8}),  # which the kernel does not read
    ({"fill": "seed_rand"}, {"fill": "c_rand"}),  # a former name
]
OTHER = [{"block": 128}, {"size": 7}, {"width": 8}, {"mask": 0xFF}, {"dtype": "float32"}, {"seed": 1}]


@pytest.mark.parametrize(("one", "other"), SAME)
def test_what_is_the_same_is_one_case(one, other):
    """However it is written, or not written."""
    assert case_of(SHFL, **one).id == case_of(SHFL, **other).id


@pytest.mark.parametrize("change", OTHER)
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
