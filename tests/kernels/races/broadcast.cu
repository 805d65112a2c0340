// One word that all threads read: the block's first element. Then one thread overwrites it.

constexpr int BLOCK = 64;

// ok oneWord: a barrier between the reads and the next write
__global__ void broadcast(const int* in, int* out)
{
    __shared__ int word;
    const int t = threadIdx.x, i = blockIdx.x * BLOCK + t;
    if (t == 0) word = in[i];
    __syncthreads();
    const int first = word;
    __syncthreads();
    if (t == 3) word = -first;
    __syncthreads();
    out[i] = first + word + first;
}

// bug oneWord: the other warp may not have read yet
__global__ void broadcastOtherWarp(const int* in, int* out)
{
    __shared__ int word;
    const int t = threadIdx.x, i = blockIdx.x * BLOCK + t;
    if (t == 0) word = in[i];
    __syncthreads();
    out[i] = word;           // RACE a
    if (t == 63) word = -1;  // RACE b
}

// bug oneWord: __syncwarp waits for the writer's own warp alone
__global__ void broadcastOwnWarp(const int* in, int* out)
{
    __shared__ int word;
    const int t = threadIdx.x, i = blockIdx.x * BLOCK + t;
    if (t == 0) word = in[i];
    __syncthreads();
    out[i] = word;          // RACE a
    __syncwarp();
    if (t == 3) word = -1;  // RACE b
}

// bug oneWord: only the lower half of the warp that reads waits for itself; a vote is no barrier
__global__ void broadcastLowHalf(const int* in, int* out)
{
    __shared__ int words[2];
    const int t = threadIdx.x, i = blockIdx.x * BLOCK + t;
    if (t % 32 == 0) words[t / 32] = in[i] / BLOCK * BLOCK;
    __syncthreads();
    out[i] = words[t / 32];          // RACE a
    __any_sync(0xffffffff, 1);
    if (t % 32 < 16) __syncwarp(0xffff);
    if (t == 3) words[t / 32] = -1;  // RACE b
}

// bug oneWord: only the upper half of the warp that reads waits for itself; a vote is no barrier
__global__ void broadcastHighHalf(const int* in, int* out)
{
    __shared__ int words[2];
    const int t = threadIdx.x, i = blockIdx.x * BLOCK + t;
    if (t % 32 == 0) words[t / 32] = in[i] / BLOCK * BLOCK;
    __syncthreads();
    out[i] = words[t / 32];           // RACE a
    __any_sync(0xffffffff, 1);
    if (t % 32 >= 16) __syncwarp(0xffff0000);
    if (t == 28) words[t / 32] = -1;  // RACE b
}

// bug oneWord: the upper half may read when a lane of the lower one adds to the word
__global__ void broadcastAddLow(const int* in, int* out)
{
    __shared__ int words[2];
    const int t = threadIdx.x, i = blockIdx.x * BLOCK + t;
    if (t % 32 == 0) words[t / 32] = in[i] / BLOCK * BLOCK;
    __syncthreads();
    if (t % 32 < 16) {
        out[i] = words[t / 32];
        __syncwarp(0xffff);
        if (t == 15) atomicAdd(&words[t / 32], 1);  // RACE a
    } else {
        out[i] = words[t / 32];                     // RACE b
    }
}

// bug oneWord: the lower half may read when a lane of the upper one adds to the word
__global__ void broadcastAddHigh(const int* in, int* out)
{
    __shared__ int words[2];
    const int t = threadIdx.x, i = blockIdx.x * BLOCK + t;
    if (t % 32 == 0) words[t / 32] = in[i] / BLOCK * BLOCK;
    __syncthreads();
    if (t % 32 >= 16) {
        out[i] = words[t / 32];
        __syncwarp(0xffff0000);
        if (t == 16) atomicAdd(&words[t / 32], 1);  // RACE a
    } else {
        out[i] = words[t / 32];                     // RACE b
    }
}

// ok oneWord: each warp has its own word, and waits for itself
__global__ void broadcastOfWarps(const int* in, int* out)
{
    __shared__ int words[2];
    const int t = threadIdx.x, i = blockIdx.x * BLOCK + t;
    if (t % 32 == 0) words[t / 32] = in[i] / BLOCK * BLOCK;
    __syncwarp();
    const int first = words[t / 32];
    __syncwarp();
    if (t % 32 == 5) words[t / 32] = -first;
    __syncwarp();
    out[i] = first + words[t / 32] + first;
}
