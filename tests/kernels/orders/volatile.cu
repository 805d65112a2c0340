// Volatile words within a block: flags, and data that a warp exchanges in lockstep.
// The line before a kernel says its kind, the setup of races.yaml, and what is wrong. RACE a and RACE b mark the two sides.

// ok copied: a flag without a fence, as it hands nothing over
__global__ void stopFlag(const int* in, int* out)
{
    __shared__ volatile int stop;
    const int t = threadIdx.x, i = blockIdx.x * 64 + t;
    if (t == 0) stop = 0;
    __syncthreads();
    if (t == 5) stop = 1;
    if (t >= 32) {
        while (stop == 0) {
        }
    }
    out[i] = in[i];
}

// ok copied: the same within a warp, whose lanes may wait for each other since Volta
__global__ void stopFlagOfWarp(const int* in, int* out)
{
    __shared__ volatile bool stop[2];
    const int t = threadIdx.x, i = blockIdx.x * 64 + t;
    if (t % 32 == 0) stop[t / 32] = false;
    __syncthreads();
    if (t % 32 == 5) {
        stop[t / 32] = true;
    } else {
        while (!stop[t / 32]) {
        }
    }
    out[i] = in[i];
}

// ok copied: all threads that find something say so, and others may look before the barrier
__global__ void foundFlag(const int* in, int* out)
{
    __shared__ volatile int found;
    const int t = threadIdx.x, i = blockIdx.x * 64 + t;
    if (t == 0) found = 0;
    __syncthreads();
    for (int step = 0; step < 4 && found == 0; ++step) {
        if (in[i] % 16 == step) found = 1;
    }
    __syncthreads();
    out[i] = found ? in[i] : 0;
}

// ok copied: a switch over a flag that another warp moves on
__global__ void stateFlag(const int* in, int* out)
{
    __shared__ volatile int state;
    const int t = threadIdx.x, i = blockIdx.x * 64 + t;
    if (t == 0) state = 0;
    __syncthreads();
    if (t == 0) {
        state = 1;
        state = 2;
    }
    for (bool done = t < 32; !done;) {
        switch (state) {
            case 0: case 1: break;
            default: done = true;
        }
    }
    out[i] = in[i];
}

// bug largest: a warp in lockstep, which compares what it exchanges
__global__ void lockstepMax(const int* in, int* out)
{
    __shared__ volatile int s[32];
    const int t = threadIdx.x;
    s[t] = in[t];
    __syncthreads();
    for (int half = 16; half > 0; half /= 2) {
        if (t < half && s[t] < s[t + half]) s[t] = s[t + half];  // RACE a b
    }
    if (t == 0) *out = s[0];
}

// ok largest: with a barrier of the warp between reads and writes
__global__ void warpMax(const int* in, int* out)
{
    __shared__ volatile int s[32];
    const int t = threadIdx.x;
    s[t] = in[t];
    __syncthreads();
    for (int half = 16; half > 0; half /= 2) {
        const int other = s[(t + half) % 32];
        __syncwarp();
        if (s[t] < other) s[t] = other;
        __syncwarp();
    }
    if (t == 0) *out = s[0];
}

// bug copied: a volatile flag without a fence hands over volatile data
__global__ void dataBehindFlag(const int* in, int* out)
{
    __shared__ volatile int flag, data;
    const int t = threadIdx.x, i = blockIdx.x * 64 + t;
    if (t == 0) flag = 0;
    __syncthreads();
    if (t == 0) {
        data = in[blockIdx.x * 64];  // RACE a
        flag = 1;
    }
    int first = in[blockIdx.x * 64];
    if (t >= 32) {
        while (flag == 0) {
        }
        first = data;  // RACE b
    }
    out[i] = in[i] - in[blockIdx.x * 64] + first;
}
