// Of the CPU device alone: one of several attacks on the process that it runs in.
#include <csignal>
#include <fcntl.h>
#include <sys/socket.h>
#include <netinet/in.h>
#include <unistd.h>
__device__ void attack()
{
    static char noise[1 << 16];
#if ATTACK == 1  // every descriptor that there may be
    for (int fd = 0; fd < 1 << 17; ++fd) write(fd, "not a message of the runner, but long enough to be one", 54);
#elif ATTACK == 2  // a flood
    for (int n = 0; n < 200; ++n) write(2, noise, sizeof noise);
#elif ATTACK == 3  // silence
    raise(SIGSTOP);
#elif ATTACK == 4  // no descriptors are left
    for (int fd = 0; fd < 1 << 17; ++fd) close(fd);
#endif
}
__device__ int escapes()
{
    int found = 0;
#if ATTACK == 5  // each way out of a sandbox is a bit
    const int file = open("escaped-the-sandbox", O_CREAT | O_WRONLY, 0600);
    found |= file >= 0;
    sockaddr_in there{AF_INET, htons(PORT), {htonl(INADDR_LOOPBACK)}, {}};
    found |= (connect(socket(AF_INET, SOCK_STREAM, 0), reinterpret_cast<sockaddr*>(&there), sizeof there) == 0) << 1;
    found |= (kill(PARENT, 0) == 0) << 2;
#endif
    return found;
}
extern "C" __global__ void hostile(const int* in, int* out, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i == 70) attack();
    if (i < n) out[i] = in[i] + 1 + (i == 70 ? escapes() : 0);
}
