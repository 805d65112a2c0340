"""The one rewrite of a kernel's text: declarations of dynamic shared memory."""

import pytest

from runner.device.cpu.translate import rewrite_dynamic_shared

REWRITTEN = {
    "extern __shared__ int s[];": "int *s = ::simt::dynamic_shared<int>();",
    "extern __shared__ float4 tile[];": "float4 *tile = ::simt::dynamic_shared<float4>();",
    "extern __shared__ unsigned char raw[];": "unsigned char *raw = ::simt::dynamic_shared<unsigned char>();",
    "extern  __shared__  T  s [ ] ;": "T *s = ::simt::dynamic_shared<T>();",
    "extern __shared__ Pair<int, float> s[];": "Pair<int, float> *s = ::simt::dynamic_shared<Pair<int, float>>();",
    "extern __shared__ volatile int s[];": "volatile int *s = ::simt::dynamic_shared<int>();",
    "extern volatile __shared__ int s[];": "volatile int *s = ::simt::dynamic_shared<int>();",
    "extern __shared__ __align__(16) char s[];": "char *s = ::simt::dynamic_shared<char>();",
    "extern __align__(16) __shared__ char s[];": "char *s = ::simt::dynamic_shared<char>();",
    "extern __shared__ char __align__(16) s[];": "char *s = ::simt::dynamic_shared<char>();",
    "extern __shared__ alignas(16) char s[];": "char *s = ::simt::dynamic_shared<char>();",
    "__shared__ extern int s[];": "int *s = ::simt::dynamic_shared<int>();",
    "extern int __shared__ s[];": "int *s = ::simt::dynamic_shared<int>();",
    "extern __shared__ __align__(sizeof(T)) T s[];": "T *s = ::simt::dynamic_shared<T>();",
    "extern __shared__ __attribute__((aligned(16))) T s[];": "T *s = ::simt::dynamic_shared<T>();",
    "extern __shared__ int s[] __attribute__((aligned(16)));": "int *s = ::simt::dynamic_shared<int>();",
    "extern __shared__ int *s[];": "int* *s = ::simt::dynamic_shared<int*>();",
    "extern __shared__ int s[][N + 1];": "int (*s)[N+1] = ::simt::dynamic_shared<int[N+1]>();",
    "extern __shared__ int s[], t[];": (
        "int *s = ::simt::dynamic_shared<int>(); int *t = ::simt::dynamic_shared<int>();"
    ),
}
LEFT_ALONE = (
    "__shared__ int s[32];",
    "extern int s[];",
    "// extern __shared__ int s[];",
    "/* extern __shared__ int s[]; */",
    'printf("extern __shared__ int s[];");',
)


@pytest.mark.parametrize("text", REWRITTEN, ids=range(len(REWRITTEN)))
def test_dynamic_shared_becomes_a_pointer(text):
    """In each form that CUDA accepts."""
    assert rewrite_dynamic_shared(f"void f() {{ {text} // here\n}}") == f"void f() {{ {REWRITTEN[text]} // here\n}}"


@pytest.mark.parametrize("around", ["", "namespace a::b { ", 'extern "C" {\n', "void f() { g({1}); }\n"])
def test_at_file_scope_the_pointer_waits_for_a_block(around):
    """In no function there is no value yet; a macro is expanded in functions."""
    text = "extern __shared__ int s[];"
    assert "static thread_local int *s; " in rewrite_dynamic_shared(around + text)
    assert "thread_local" not in rewrite_dynamic_shared(f"{around}\n#define X \\\n {text}")


@pytest.mark.parametrize("text", LEFT_ALONE, ids=range(len(LEFT_ALONE)))
def test_other_text_stays_as_it_is(text):
    """Other declarations, comments and literals."""
    assert rewrite_dynamic_shared(text) == text
