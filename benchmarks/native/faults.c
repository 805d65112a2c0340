/* Faults of the system below a folder, for benchmarks/reliability.py: LD_PRELOAD puts these in front of the C library's.

   FAULT_BELOW    the folder
   FAULT_COUNT    a file of 8 bytes, which all processes share: the bytes that were written below the folder
   FAULT_AFTER    the disk is full once so many were written: the write is cut there, and the next one fails
   FAULT_CLOCK    seconds by which the clock jumps (`-3600`: back), FAULT_CLOCK_AT seconds after the process began */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#define NEXT(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

static long long* written; /* shared */
static long long most = LLONG_MAX, jump, jump_at;
static const char* below;
static struct timespec begun;

__attribute__((constructor)) static void start(void)
{
    const char* count = getenv("FAULT_COUNT");
    const char* after = getenv("FAULT_AFTER");
    const char* clock = getenv("FAULT_CLOCK");
    const char* at = getenv("FAULT_CLOCK_AT");
    below = getenv("FAULT_BELOW");
    if (after) most = atoll(after);
    if (clock) jump = atoll(clock);
    if (at) jump_at = atoll(at);
    NEXT(clock_gettime)(CLOCK_MONOTONIC, &begun);
    const int file = count ? open(count, O_RDWR | O_CLOEXEC) : -1;
    if (file < 0) return;
    void* shared = mmap(NULL, 8, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (shared != MAP_FAILED) written = shared;
    close(file);
}

static int is_below(int descriptor)
{
    char link[64], path[PATH_MAX];
    struct stat about;
    if (!written || !below || fstat(descriptor, &about) || !S_ISREG(about.st_mode)) return 0;
    snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
    const ssize_t length = readlink(link, path, sizeof path - 1);
    if (length < 0) return 0;
    path[length] = 0;
    return strncmp(path, below, strlen(below)) == 0;
}

/* How many of these bytes the disk takes; -1 if none. */
static ssize_t room(int descriptor, size_t bytes)
{
    if (!bytes || !is_below(descriptor)) return (ssize_t)bytes;
    const long long before = __atomic_fetch_add(written, (long long)bytes, __ATOMIC_SEQ_CST);
    if (before + (long long)bytes <= most) return (ssize_t)bytes;
    errno = ENOSPC;
    return before < most ? (ssize_t)(most - before) : -1;
}

ssize_t write(int descriptor, const void* from, size_t bytes)
{
    const ssize_t taken = room(descriptor, bytes);
    return taken < 0 ? -1 : NEXT(write)(descriptor, from, (size_t)taken);
}

ssize_t pwrite64(int descriptor, const void* from, size_t bytes, off64_t at)
{
    const ssize_t taken = room(descriptor, bytes);
    return taken < 0 ? -1 : NEXT(pwrite64)(descriptor, from, (size_t)taken, at);
}

size_t fwrite(const void* from, size_t size, size_t count, FILE* stream)
{
    if (room(fileno(stream), size * count) == (ssize_t)(size * count)) return NEXT(fwrite)(from, size, count, stream);
    errno = ENOSPC;
    return 0;
}

ssize_t sendfile64(int to, int from, off64_t* at, size_t bytes)
{
    const ssize_t taken = room(to, bytes);
    return taken < 0 ? -1 : NEXT(sendfile64)(to, from, at, (size_t)taken);
}

ssize_t copy_file_range(int from, off64_t* at, int to, off64_t* where, size_t bytes, unsigned flags)
{
    const ssize_t taken = room(to, bytes);
    return taken < 0 ? -1 : NEXT(copy_file_range)(from, at, to, where, (size_t)taken, flags);
}

/* A full disk has no room for a new folder either. */
static int is_full(const char* path)
{
    char whole[PATH_MAX];
    if (!written || !below || __atomic_load_n(written, __ATOMIC_SEQ_CST) < most) return 0;
    if (path[0] == '/') return strncmp(path, below, strlen(below)) == 0;
    return getcwd(whole, sizeof whole) && strncmp(whole, below, strlen(below)) == 0;
}

int mkdir(const char* path, mode_t mode)
{
    if (!is_full(path)) return NEXT(mkdir)(path, mode);
    errno = ENOSPC;
    return -1;
}

int clock_gettime(clockid_t which, struct timespec* now)
{
    const int status = NEXT(clock_gettime)(which, now);
    struct timespec passed;
    if (which != CLOCK_REALTIME || !jump || status) return status;
    NEXT(clock_gettime)(CLOCK_MONOTONIC, &passed);
    if (passed.tv_sec - begun.tv_sec >= jump_at) now->tv_sec += jump;
    return status;
}

int gettimeofday(struct timeval* now, void* zone)
{
    struct timespec precise;
    (void)zone;
    clock_gettime(CLOCK_REALTIME, &precise);
    now->tv_sec = precise.tv_sec;
    now->tv_usec = precise.tv_nsec / 1000;
    return 0;
}

time_t time(time_t* into)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    if (into) *into = now.tv_sec;
    return now.tv_sec;
}
