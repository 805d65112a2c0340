// Of the CPU device alone: a GPU has no processes.
#include <csignal>
#include <unistd.h>
extern "C" __global__ void killsItself(const int* in, int* out, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i == 70) {
        kill(getpid(), SIGKILL);
    }
    if (i < n) {
        out[i] = in[i] + 1;
    }
}
