"""Launches that do not fit the kernel or the device are refused with a sentence."""

from pathlib import Path

import numpy as np
import pytest

from runner.device import Role
from runner.errors import LaunchError, OutOfMemory

TEXT = 'extern "C" __global__ void reduceShfl(const int *in, int *out, long long size) { if (size) out[0] = in[0]; }\n'


@pytest.fixture
def program(bench, tmp_path):
    """A kernel with three parameters."""
    return bench.load(bench.text(tmp_path, TEXT, "reduceShfl"))


@pytest.fixture
def ints(bench):
    """An array that fits its pointers."""
    return bench.place(np.zeros(4, np.int32), name="ints")


def refused(bench, program, *arguments, **shape):
    """The message with which a launch is refused."""
    with pytest.raises(LaunchError) as caught:
        bench.launch(program, *arguments, **shape)
    assert type(caught.value) is LaunchError
    return str(caught.value)


INTS, FLOATS = object(), object()  # arrays
WRONG = {
    "too few": ((INTS, INTS), "the kernel takes 3 arguments (const int *, int *, long long), the YAML passes 2"),
    "a narrower integer": (
        (INTS, INTS, np.int32(1)),
        "argument 3 is 'long long', the YAML passes a scalar of type int",
    ),
    "a float for an integer": (
        (INTS, INTS, np.float64(1)),
        "argument 3 is 'long long', the YAML passes a scalar of type double",
    ),
    "other elements": (
        (INTS, FLOATS, np.int64(1)),
        "argument 2 is 'int *', the YAML passes the array 'floats' of float",
    ),
    "a scalar for a pointer": (
        (np.int64(0), INTS, np.int64(1)),
        "argument 1 is 'const int *', the YAML passes a scalar of type long long",
    ),
    "an array for a scalar": (
        (INTS, INTS, INTS),
        "argument 3 is 'long long', the YAML passes the array 'ints' of int",
    ),
}


@pytest.mark.parametrize("what", WRONG)
def test_arguments_that_do_not_fit_are_told_with_the_kernels_own(bench, program, ints, what):
    """They would be read as garbage: the message has the parameter's type, and what the YAML passes."""
    floats = bench.place(np.zeros(4, np.float32), name="floats")
    arguments, message = WRONG[what]
    passed = [ints if a is INTS else floats if a is FLOATS else a for a in arguments]
    assert refused(bench, program, *passed) == message


def test_an_array_of_numbers_is_no_array_of_pointers(bench, tmp_path):
    """Floats would be used as addresses. A kernel may keep its own pointers in an array of 64-bit integers."""
    text = 'extern "C" __global__ void kernel(const int **in, int *out) { in[0] = out; out[0] = *in[0] + 1; }\n'
    program = bench.load(bench.text(tmp_path, text))
    out = bench.place(np.ones(4, np.int32), name="out")
    floats = bench.place(np.zeros(4, np.float32), name="floats")
    message = refused(bench, program, floats, out)
    assert message.startswith("argument 1 is 'const int")
    assert "the YAML passes the array 'floats' of float" in message
    bench.launch(program, bench.place(np.zeros(1, np.uint64), name="own"), out, block=1)
    assert out.read()[0] == 2


@pytest.mark.parametrize(
    ("shape", "message"),
    [
        ({"block": (32, 33, 1)}, "has 1056 threads, 1024 are allowed"),
        ({"block": (1, 1, 65)}, "is not between"),
        ({"block": 0}, "is not between"),
        ({"grid": (1, 65536, 1)}, "is not between"),
        ({"grid": 0}, "is not between"),
        ({"shared": 232449}, "232448 are allowed"),
        ({"shared": -1}, "are allowed"),
    ],
)
def test_shapes_that_a_gpu_refuses(bench, program, ints, shape, message):
    """Grid, block and shared memory have a GPU's limits."""
    assert message in refused(bench, program, ints, ints, np.int64(1), **shape)


def test_constants(bench, tmp_path):
    """A constant that the source does not list, or that is too small for the value."""
    text = '__constant__ int table[4];\nextern "C" __global__ void kernel(int *o) { *o = table[3]; }\n'
    program = bench.load(bench.text(tmp_path, text, constants=("table",)))
    with pytest.raises(LaunchError, match="kernel: its Source lists no __constant__ or __device__ variable 'other'"):
        bench.device.set_constant(program, "other", np.zeros(4, np.int32))
    with pytest.raises(LaunchError, match="constant 'table' has 16 bytes, the YAML sets 20"):
        bench.device.set_constant(program, "table", np.zeros(5, np.int32))


def test_array_larger_than_the_address_space(bench):
    """What cannot be mapped is out of memory."""
    huge = np.broadcast_to(np.int32(0), (1,))
    with pytest.raises(OutOfMemory, match="no memory for array 'huge'"):
        bench.place(huge, name="huge", offset=2**45)


@pytest.mark.parametrize("role", list(Role))
def test_arrays_come_back_as_placed(bench, role):
    """Reading gives shape and content; fill_bytes and restore do what they say, for each role but inputs' restore."""
    value = np.arange(15, dtype=np.int16).reshape(3, 5)
    array = bench.place(value, role)
    assert array.role is role
    assert (array.read() == value).all()
    assert array.read().shape == (3, 5)
    if role is not Role.IN:
        array.fill_bytes(0x11)
        assert (array.read() == 0x1111).all()
        array.restore()
        assert (array.read() == value).all()


@pytest.mark.parametrize("offset", [0, 1, 3, 4, 1000])
def test_offset_leaves_elements_before_the_pointer(bench, tmp_path, offset):
    """The allocation begins aligned, the pointer that many elements later; what lies between is garbage."""
    text = 'extern "C" __global__ void kernel(const float *in, long long *o, int lead) {\n'
    text += "  o[0] = (long long)in % 16; o[1] = lead ? (long long)in[-lead] : 0; o[2] = (long long)in[0]; }\n"
    out = bench.place(np.zeros(3, np.int64))
    given = bench.place(np.full(7, 5, np.float32), Role.IN, "given", offset)
    bench.launch(bench.load(bench.text(tmp_path, text)), given, out, np.int32(offset), block=1)
    garbage = int(np.full(4, Role.IN.guard_byte, np.uint8).view(np.float32)[0])
    assert list(out.read()) == [offset * 4 % 16, garbage if offset else 0, 5]


def test_placing_many_arrays_leaks_nothing(bench):
    """Freed arrays give their memory back, also their reserved address space."""

    def mappings():
        return Path("/proc/self/maps").read_text().count("\n")

    before = mappings()
    for _ in range(2000):
        bench.place(np.ones(1000)).free()
    assert mappings() < before + 50
