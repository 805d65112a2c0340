// Kernels that the runner launches between the launches that it times. `nvcc -ptx -arch=compute_75` makes guard.ptx,
// whose `.version` is then set to 6.4, the first for sm_75, so that older drivers take it.

// Adds a keyed hash of `count` words to *result: the sum over all words of (word + k1) * k2, where k1 and k2 are
// pseudo-random in the word's index and the key (the family NH: Black et al., UMAC, 1999). A kernel that does not know
// the key cannot write other words with the same hash. The order in which threads add does not matter.
template <typename Word>
__device__ void add_hash(const Word *words, unsigned long long count, unsigned long long key,
                         unsigned long long *result) {
    unsigned long long sum = 0;
    const unsigned long long step = (unsigned long long)gridDim.x * blockDim.x;
#pragma unroll 1
    for (unsigned long long i = (unsigned long long)blockIdx.x * blockDim.x + threadIdx.x; i < count; i += step) {
        unsigned k = (unsigned)i * 0x9e3779b9u + (unsigned)(i >> 32) + (unsigned)key;
        k = (k ^ (k >> 16)) * 0x85ebca6bu;
        k = (k ^ (k >> 13)) * 0xc2b2ae35u;
        k ^= k >> 16;
        sum += (unsigned long long)((unsigned)words[i] + k) * (k ^ (unsigned)(key >> 32));
    }
#pragma unroll 1
    for (int lanes = 16; lanes > 0; lanes /= 2)
        sum += __shfl_xor_sync(0xffffffffu, sum, lanes);
    __shared__ unsigned long long all;
    if (threadIdx.x == 0)
        all = 0;
    __syncthreads();
    if (threadIdx.x % 32 == 0)
        atomicAdd(&all, sum);
    __syncthreads();
    if (threadIdx.x == 0)
        atomicAdd(result, all);
}

extern "C" __global__ void hash_words(const unsigned *words, unsigned long long count, unsigned long long key,
                                      unsigned long long *result) {
    add_hash(words, count, key, result);
}

extern "C" __global__ void hash_bytes(const unsigned char *bytes, unsigned long long count, unsigned long long key,
                                      unsigned long long *result) {
    add_hash(bytes, count, key, result);
}

// What memory that no thread has written is filled with: NaN as a float, -1 as an integer. A sum that a kernel forgets to
// set to zero would be right in memory full of zeros.
constexpr unsigned UNSET = 0xffffffffu;

// Overwrites the dynamic shared memory of a block, which a kernel could otherwise read as its predecessor left it.
extern "C" __global__ void clear_shared(unsigned bytes) {
    extern __shared__ unsigned content[];
#pragma unroll 1
    for (unsigned i = threadIdx.x; i < bytes / 4; i += blockDim.x)
        ((volatile unsigned *)content)[i] = UNSET;
}

// Overwrites BYTES of the local memory of each thread that fits on the GPU, which a kernel could otherwise read as the last
// launch left it. Each block waits for all others, as a thread that starts later may get the memory of one that ended.
template <int BYTES>
__device__ void clear_frame(unsigned *arrived) {
    const long long most_clocks = 1 << 20; // if another process holds a part of the GPU, not all blocks fit
    volatile unsigned frame[BYTES / 4];
#pragma unroll 1
    for (int i = 0; i < BYTES / 4; i++)
        frame[i] = UNSET;
    __syncthreads();
    if (threadIdx.x == 0) {
        atomicAdd(arrived, 1);
        for (const long long start = clock64(); clock64() - start < most_clocks;)
            if (*(volatile unsigned *)arrived >= gridDim.x)
                break;
    }
    __syncthreads();
}

extern "C" __global__ void clear_local_64(unsigned *arrived) {
    clear_frame<64>(arrived);
}

extern "C" __global__ void clear_local_512(unsigned *arrived) {
    clear_frame<512>(arrived);
}

extern "C" __global__ void clear_local_4096(unsigned *arrived) {
    clear_frame<4096>(arrived);
}
