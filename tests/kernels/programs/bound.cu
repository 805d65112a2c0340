#include <author/extension.h>  // not here
#define COPY(to, from) asm volatile("cp.async [%0], [%1];" ::"r"(to), "l"(from))
#define BIND(name, kind, type, n)                 \
    author::Tensor bound_##name(author::Tensor x) \
    {                                             \
        return x.as<type>(kind, n);               \
    }
struct Pair { int a, b; };
__global__ void twofold(int* out, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    const Pair pair = {i, i};
    if (i < n) out[i] = pair.a + pair.b;
}
__global__ void copies(int* out, int n) { COPY(out, out); }
BIND(f32, author::kFloat32, float, 1)
BIND(f16, author::kHalf, __half, 2)
BIND(i8, author::kInt8, int8_t, 16)

BIND_MODULE(EXTENSION_NAME, m) {
  m.def("bound_f32", &bound_f32);
}
