"""A kernel's own heap: as small as a GPU's, filled with garbage, and what is freed wrongly has a line."""

import numpy as np
import pytest

from runner.errors import Hazard

MIB = 1 << 20


@pytest.fixture
def launched(bench, tmp_path):
    """The outputs of launches of a kernel with this body, of 64 threads each."""

    def launch(body, times=1):
        program = bench.load(bench.text(tmp_path, f"__global__ void kernel(int* o)\n{{\n{body}\n}}\n"))
        for _ in range(times):
            program.reset()
            out = bench.place(np.zeros(64, np.int32))
            bench.launch(program, out, block=64)
            yield out.read()

    return launch


def test_the_heap_has_8_mib_and_a_full_one_gives_null(launched):
    """What is freed is there again; what is not is gone for the next launches, as on a GPU, but not for other kernels."""
    takes = f"if (threadIdx.x == 0) while (malloc({MIB})) ++o[0];"
    assert [out[0] for out in launched(takes, 3)] == [8, 0, 0]
    assert [out[0] for out in launched(takes)] == [8]
    frees = f"for (int k = 0; k < 100; ++k) {{ void* p = malloc({MIB // 8}); o[threadIdx.x] += p != 0; free(p); }}"
    assert all(set(out) == {100} for out in launched(frees, 2))


def test_new_gives_null_when_the_heap_is_full(launched):
    """Its constructor then does not run, as with nvcc."""
    (out,) = launched(f"""
        struct Large {{ int first; char rest[{MIB}]; __device__ Large() : first(1) {{}} }};
        if (threadIdx.x == 0) for (int k = 0; k < 10; ++k) {{ Large* p = new Large; o[k] = p ? p->first : 5; }}
    """)
    assert list(out[:10]) == [1] * 7 + [5] * 3


def test_new_memory_holds_garbage_and_not_zeros(launched):
    """A kernel that takes it for zeros is wrong on a GPU, too."""
    (out,) = launched("""
        volatile float* p = new float[4]; o[threadIdx.x] = p[2] != p[2]; delete[] p;
        int* q = (int*)malloc(16); o[threadIdx.x] += q[3]; free(q);
    """)
    assert set(out) == {0}  # a NaN, and -1


WRONG = {
    "freed twice": "int* p = new int[4];\np[0] = o[0];\no[1] = p[0];\ndelete[] p;\ndelete[] p;",
    "the kernel's array": "o[0] = 1;\n\n\n\nfree(o);",
    "the middle": "int* p = (int*)malloc(64);\np[1] = o[0];\no[1] = p[1];\n\nfree(p + 1);",
}


@pytest.mark.parametrize("what", WRONG)
def test_what_is_freed_wrongly_has_a_line(what, launched):
    """The C library would end the process."""
    with pytest.raises(
        Hazard, match=r"own\.cu:7: free\(\) or delete of an address that is not allocated: .*; block \(0,0,0\)"
    ):
        list(launched(WRONG[what]))


def test_a_null_pointer_of_a_full_heap_is_told_as_such(launched):
    """With the line of the access."""
    with pytest.raises(
        Hazard, match=r"own\.cu:5: write through a null pointer, which malloc\(\) or new returned: .* 8 MiB"
    ):
        list(launched(f"for (int k = 0; k < 9; ++k) {{\nchar* volatile p = (char*)malloc({MIB});\np[5] = 1; }}"))
