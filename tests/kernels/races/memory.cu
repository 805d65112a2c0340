// Bounds and first values: what lies behind an array, and what nobody has written.
// The line before a kernel says its kind, the setup of races.yaml, and what is wrong. OUTSIDE and UNWRITTEN mark the line.

constexpr int BLOCK = 64;

// ok copied: a grid-stride loop ends at n
__global__ void strideExact(const int* in, int* out, int n)
{
    for (int i = blockIdx.x * BLOCK + threadIdx.x; i < n; i += gridDim.x * BLOCK) out[i] = in[i];
}

// bug copied: <= n
__global__ void strideOneMore(const int* in, int* out, int n)
{
    for (int i = blockIdx.x * BLOCK + threadIdx.x; i <= n; i += gridDim.x * BLOCK) out[i] = in[i];  // OUTSIDE
}

// bug copied: the write is guarded, the read before it is not
__global__ void readUnguarded(const int* in, int* out, int n)
{
    const int i = blockIdx.x * BLOCK + threadIdx.x, value = in[i];  // OUTSIDE
    if (i < n) out[i] = value;
    else if (value == 12345) out[0] = 1;
}

// bug copied: no guard for the last block's rest
__global__ void writeUnguarded(const int* in, int* out, int n)
{
    const int i = blockIdx.x * BLOCK + threadIdx.x;
    out[i] = i < n ? in[i] : 0;  // OUTSIDE
}

// ok leftOf: the first element has no left neighbour
__global__ void leftGuarded(const int* in, int* out, int n)
{
    const int i = blockIdx.x * BLOCK + threadIdx.x;
    if (i < n) out[i] = i > 0 ? in[i - 1] : 0;
}

// bug leftOf: element -1
__global__ void leftUnguarded(const int* in, int* out, int n)
{
    const int i = blockIdx.x * BLOCK + threadIdx.x;
    if (i < n) {
        const int left = in[i - 1];  // OUTSIDE
        out[i] = i > 0 ? left : 0;
    }
}

// bug copied: far behind the array, where another one may lie
__global__ void readFar(const int* in, int* out, int n)
{
    const int i = blockIdx.x * BLOCK + threadIdx.x;
    if (i < n) out[i] = in[i];
    if (i == 3 && in[i + 4096] == 12345) out[i] = 0;  // OUTSIDE
}

// ok words: bytes to the last one
__global__ void bytesExact(const unsigned char* in, unsigned char* out, int n)
{
    const int i = blockIdx.x * BLOCK + threadIdx.x;
    if (i < n) out[i] = in[i];
}

// bug words: one byte more
__global__ void bytesOneMore(const unsigned char* in, unsigned char* out, int n)
{
    const int i = blockIdx.x * BLOCK + threadIdx.x;
    if (i <= n) out[i] = in[i];  // OUTSIDE
}

// ok copied: vectors of four, and the rest one by one
__global__ void vectorsAndRest(const int* in, int* out, int n)
{
    const int i = 4 * (blockIdx.x * BLOCK + threadIdx.x);
    if (i + 4 <= n) *reinterpret_cast<int4*>(out + i) = *reinterpret_cast<const int4*>(in + i);
    else
        for (int k = i; k < n; ++k) out[k] = in[k];
}

// bug copied: the last vector reaches beyond the array
__global__ void vectorsOnly(const int* in, int* out, int n)
{
    const int i = 4 * (blockIdx.x * BLOCK + threadIdx.x);
    if (i < n) *reinterpret_cast<int4*>(out + i) = *reinterpret_cast<const int4*>(in + i);  // OUTSIDE
}

// bug copied: an integer at an address that is no multiple of four
__global__ void misaligned(const int* in, int* out, int n)
{
    const int i = blockIdx.x * BLOCK + threadIdx.x;
    if (i < n) out[i] = in[i];
    const char* bytes = reinterpret_cast<const char*>(in) + 1;
    if (i == 0 && *reinterpret_cast<const int*>(bytes) == 12345) out[0] = 1;  // MISALIGNED
}

// ok reversed: two static shared arrays, each within its bounds
__global__ void staticExact(const int* in, int* out)
{
    __shared__ int a[BLOCK], b[BLOCK];
    const int t = threadIdx.x, i = blockIdx.x * BLOCK + t;
    a[t] = in[i];
    b[t] = in[i] + 1;
    __syncthreads();
    out[i] = a[BLOCK - 1 - t] + b[BLOCK - 1 - t];
}

// bug reversed: one static shared array is written into the next
__global__ void staticWriteNext(const int* in, int* out)
{
    __shared__ int a[BLOCK], b[BLOCK];
    const int t = threadIdx.x, i = blockIdx.x * BLOCK + t;
    b[t] = in[i] + 1;
    __syncthreads();
    a[t + 1] = in[i];  // OUTSIDE
    __syncthreads();
    out[i] = a[max(1, BLOCK - 1 - t)] + b[BLOCK - 1 - t];
}

// bug reversed: one static shared array is read into the next
__global__ void staticReadNext(const int* in, int* out)
{
    __shared__ int a[BLOCK], b[BLOCK];
    const int t = threadIdx.x, i = blockIdx.x * BLOCK + t;
    a[t] = in[i];
    b[t] = in[i] + 1;
    __syncthreads();
    out[i] = a[BLOCK - t] + b[BLOCK - 1 - t];  // OUTSIDE
}

// bug reversed: a pointer into a static shared array runs into the next
__global__ void staticPointerNext(const int* in, int* out)
{
    __shared__ int a[BLOCK], b[BLOCK];
    const int t = threadIdx.x, i = blockIdx.x * BLOCK + t;
    a[t] = in[i];
    b[t] = in[i] + 1;
    __syncthreads();
    const int* end = a + BLOCK;
    out[i] = *(end - t) + b[BLOCK - 1 - t];  // OUTSIDE
}

// ok reversedDynamic: dynamic shared memory for two arrays, in bytes
__global__ void dynamicExact(const int* in, int* out)
{
    extern __shared__ int s[];
    int *a = s, *b = s + BLOCK;
    const int t = threadIdx.x, i = blockIdx.x * BLOCK + t;
    a[t] = in[i];
    b[t] = in[i] + 1;
    __syncthreads();
    out[i] = a[BLOCK - 1 - t] + b[BLOCK - 1 - t];
}

// bug reversedDynamic: written one element behind dynamic shared memory
__global__ void dynamicWriteBehind(const int* in, int* out)
{
    extern __shared__ int s[];
    int *a = s, *b = s + BLOCK;
    const int t = threadIdx.x, i = blockIdx.x * BLOCK + t;
    a[t] = in[i];
    b[t + 1] = in[i] + 1;  // OUTSIDE
    __syncthreads();
    out[i] = a[BLOCK - 1 - t] + b[BLOCK - t];
}

// bug reversedDynamic: read one element behind dynamic shared memory
__global__ void dynamicReadBehind(const int* in, int* out)
{
    extern __shared__ int s[];
    int *a = s, *b = s + BLOCK;
    const int t = threadIdx.x, i = blockIdx.x * BLOCK + t;
    a[t] = in[i];
    b[t] = in[i] + 1;
    __syncthreads();
    out[i] = a[BLOCK - 1 - t] + b[BLOCK - t];  // OUTSIDE
}

// bug reversedDynamic: the second array begins within the first, which is counted in bytes as if in elements
__global__ void dynamicOverlap(const int* in, int* out)
{
    extern __shared__ int s[];
    int *a = s, *b = s + BLOCK / sizeof(int);
    const int t = threadIdx.x, i = blockIdx.x * BLOCK + t;
    a[t] = in[i];      // RACE a
    b[t] = in[i] + 1;  // RACE b
    __syncthreads();
    out[i] = a[BLOCK - 1 - t] + b[BLOCK - 1 - t];
}

// ok padded: the tail of the shared array is filled for threads behind n
__global__ void tailZeroed(const int* in, int* out, int n)
{
    __shared__ int s[BLOCK];
    const int t = threadIdx.x, i = blockIdx.x * BLOCK + t;
    s[t] = i < n ? in[i] : 0;
    __syncthreads();
    for (int half = BLOCK / 2; half > 0; half /= 2) {
        if (t < half) s[t] += s[t + half];
        __syncthreads();
    }
    if (t == 0) out[blockIdx.x] = s[0];
}

// bug padded: the tail of the shared array is never written, and summed
__global__ void tailUnwritten(const int* in, int* out, int n)
{
    __shared__ int s[BLOCK];
    const int t = threadIdx.x, i = blockIdx.x * BLOCK + t;
    if (i < n) s[t] = in[i];
    __syncthreads();
    for (int half = BLOCK / 2; half > 0; half /= 2) {
        if (t < half) s[t] += s[t + half];  // UNWRITTEN
        __syncthreads();
    }
    if (t == 0) out[blockIdx.x] = s[0];
}

// ok haloSums: both halo elements are stored
__global__ void haloBoth(const int* in, int* out, int n)
{
    __shared__ int s[BLOCK + 2];
    const int t = threadIdx.x, i = blockIdx.x * BLOCK + t;
    s[t + 1] = i < n ? in[i] : 0;
    if (t == 0) s[0] = i > 0 ? in[i - 1] : 0;
    if (t == BLOCK - 1) s[BLOCK + 1] = i + 1 < n ? in[i + 1] : 0;
    __syncthreads();
    if (i < n) out[i] = s[t] + s[t + 1] + s[t + 2];
}

// bug haloSums: the right halo element is forgotten
__global__ void haloForgotten(const int* in, int* out, int n)
{
    __shared__ int s[BLOCK + 2];
    const int t = threadIdx.x, i = blockIdx.x * BLOCK + t;
    s[t + 1] = i < n ? in[i] : 0;
    if (t == 0) s[0] = i > 0 ? in[i - 1] : 0;
    __syncthreads();
    if (i < n) out[i] = s[t] + s[t + 1] + s[t + 2];  // UNWRITTEN
}

// bug haloSums: warps load their halo, but the first warp's barrier is missing between them
__global__ void haloRace(const int* in, int* out, int n)
{
    __shared__ int s[BLOCK + 2];
    const int t = threadIdx.x, i = blockIdx.x * BLOCK + t;
    s[t + 1] = i < n ? in[i] : 0;  // RACE a
    if (t == 0) s[0] = i > 0 ? in[i - 1] : 0;
    if (t == BLOCK - 1) s[BLOCK + 1] = i + 1 < n ? in[i + 1] : 0;
    __syncwarp();
    if (i < n) out[i] = s[t] + s[t + 1] + s[t + 2];  // RACE b
}

// bug doubled: an output is added to before anyone has written it
__global__ void outAddedTo(const int* in, int* out)
{
    const int i = blockIdx.x * BLOCK + threadIdx.x;
    out[i] += 2 * in[i];  // UNWRITTEN
}

// ok doubled: an output is written first, and added to by the same thread
__global__ void outWrittenFirst(const int* in, int* out)
{
    const int i = blockIdx.x * BLOCK + threadIdx.x;
    out[i] = in[i];
    out[i] += in[i];
}

// ok holes: every second element is written, and only these are read
__global__ void holesStepped(const int* in, int* out, int* work)
{
    const int t = threadIdx.x;
    work[2 * t] = in[t];
    __syncthreads();
    out[t] = work[2 * (BLOCK - 1 - t)];
}

// bug holes: every second element is written, but the first half is read
__global__ void holesRead(const int* in, int* out, int* work)
{
    const int t = threadIdx.x;
    work[2 * t] = in[t];
    __syncthreads();
    out[t] = work[BLOCK - 1 - t];  // UNWRITTEN
}

// bug holes: the scratch array is used as if it were zeroed
__global__ void scratchTaken(const int* in, int* out, int* work)
{
    const int t = threadIdx.x;
    atomicAdd(&work[t], in[BLOCK - 1 - t]);  // UNWRITTEN
    out[t] = work[t];
}

// ok broadcast: a shared variable is written by the thread that all wait for
__global__ void broadcastWritten(const int* in, int* out)
{
    __shared__ int first;
    const int i = blockIdx.x * BLOCK + threadIdx.x;
    if (threadIdx.x == 5) first = in[5];
    __syncthreads();
    out[i] = first;
}

// bug broadcast: only the first block writes its shared variable, all read theirs
__global__ void broadcastFirstBlock(const int* in, int* out)
{
    __shared__ int first;
    const int i = blockIdx.x * BLOCK + threadIdx.x;
    if (i == 5) first = in[5];
    __syncthreads();
    out[i] = first;  // UNWRITTEN
}

// bug broadcast: two static shared arrays: the flags are of the wrong length, the last ones are never written
__global__ void broadcastShort(const int* in, int* out)
{
    __shared__ int first[2];
    const int i = blockIdx.x * BLOCK + threadIdx.x;
    if (threadIdx.x == 5) first[0] = in[5];
    __syncthreads();
    out[i] = first[threadIdx.x / 32];  // UNWRITTEN
}

// ok sides: two large static arrays, each within its bounds
__global__ void sidesWithin(const int* in, int* out)
{
    __shared__ int a[1024];
    __shared__ int b[1024];
    const int t = threadIdx.x, i = blockIdx.x * BLOCK + t;
    a[t] = in[i];
    b[t] = in[i] + 1;
    out[i] = a[t] + b[t];
}

// bug sides: an index of the one array lands far within the other
__global__ void sidesFar(const int* in, int* out)
{
    __shared__ int a[1024];
    __shared__ int b[1024];
    const int t = threadIdx.x, i = blockIdx.x * BLOCK + t;
    a[t] = in[i];
    b[t] = in[i] + 1;
    a[1024 + 512 + t + in[0]] = 3;  // OUTSIDE
    b[1023 - t - in[0]] = 4;
    out[i] = a[t] + b[t];
}

// ok rowsCopied: a thread copies its row of eight by memcpy, and clears another by memset
__global__ void rowCopied(const int* in, int* out)
{
    __shared__ int rows[8][8], zeros[8][8];
    const int t = threadIdx.x;
    if (t < 8) {
        memcpy(rows[t], in + blockIdx.x * BLOCK + 8 * t, sizeof rows[t]);
        memset(zeros[t], 0, sizeof zeros[t]);
    }
    __syncthreads();
    out[blockIdx.x * BLOCK + t] = rows[t % 8][t / 8] + zeros[t % 8][t / 8];
}

// bug rowsCopied: a thread reads the rows that others copy by memcpy
__global__ void rowCopiedUnwaited(const int* in, int* out)
{
    __shared__ int rows[8][8];
    const int t = threadIdx.x;
    if (t < 8) memcpy(rows[t], in + blockIdx.x * BLOCK + 8 * t, sizeof rows[t]);  // RACE a
    out[blockIdx.x * BLOCK + t] = rows[t % 8][t / 8];  // RACE b
}

// bug rowsCopied: a row of memset is one byte too long
__global__ void rowClearedBeyond(const int* in, int* out)
{
    __shared__ int rows[8][8], zeros[8];
    const int t = threadIdx.x;
    rows[t / 8][t % 8] = in[blockIdx.x * BLOCK + t];
    if (t == 63) memset(zeros, 0, sizeof zeros + in[1] % 2);  // OUTSIDE
    __syncthreads();
    out[blockIdx.x * BLOCK + t] = rows[t % 8][t / 8] + zeros[t % 8];
}
