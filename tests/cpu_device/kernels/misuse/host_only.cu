
#include <algorithm>
#include <limits>
#include <type_traits>
constexpr int LIMIT = std::max(3, 4);  // on the host, before a kernel runs
int onTheHost(int a) { return std::min(a, rand()); }
template <class T>
__device__ T random(T x) { return x * T(0.5); }  // its own, not the host's
// std::min in a comment, "std::sort" in a literal
__global__ void kernel(float* o, int n) {
#ifdef NEVER
    std::sort(o, o + n);
#endif
    static_assert(std::is_same<std::remove_const<const int>::type, int>::value, "traits");
    const float x = std::sqrt(std::abs(o[0])) + std::move(o[1]) + random(o[2]) + LIMIT;
    o[0] = x; HERE
}
