// Of the CPU device alone: a GPU has no processes.
#include <csignal>
extern "C" __global__ void isTerminated(const int* in, int* out, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i == 70) {
        std::signal(SIGTERM, SIG_DFL);
        sigset_t all;
        sigfillset(&all);
        pthread_sigmask(SIG_UNBLOCK, &all, nullptr);
        raise(SIGTERM);
    }
    if (i < n) {
        out[i] = in[i] + 1;
    }
}
