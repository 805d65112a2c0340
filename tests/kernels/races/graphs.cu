// Irregular codes: graphs of rows (`start`) and columns (`to`), worklists, trees of parents.
// The line before a kernel says its kind, the setup of races.yaml, and what is wrong. RACE a and RACE b mark the two sides.

// ok push: a vertex lowers its neighbours' distances by an atomic
__global__ void pushAtomic(const int* start, const int* to, const int* level, int* next, int n)
{
    const int v = blockIdx.x * blockDim.x + threadIdx.x;
    if (v >= n) return;
    for (int e = start[v]; e < start[v + 1]; ++e) atomicMin(&next[to[e]], level[v] + 1);
}

// bug push: read, compare, write
__global__ void pushPlain(const int* start, const int* to, const int* level, int* next, int n)
{
    const int v = blockIdx.x * blockDim.x + threadIdx.x;
    if (v >= n) return;
    for (int e = start[v]; e < start[v + 1]; ++e)
        if (level[v] + 1 < next[to[e]])   // RACE a
            next[to[e]] = level[v] + 1;   // RACE b
}

// bug push: the update is atomic, the test before it reads as it likes
__global__ void pushGuarded(const int* start, const int* to, const int* level, int* next, int n)
{
    const int v = blockIdx.x * blockDim.x + threadIdx.x;
    if (v >= n) return;
    for (int e = start[v]; e < start[v + 1]; ++e) {
        if (next[to[e]] > level[v] + 1) {            // RACE a
            atomicMin(&next[to[e]], level[v] + 1);   // RACE b
        }
    }
}

// ok push: the pull form; each vertex writes its own distance only
__global__ void pullOwn(const int* start, const int* to, const int* level, int* next, int n)
{
    const int v = blockIdx.x * blockDim.x + threadIdx.x;
    if (v >= n) return;
    int least = next[v];
    for (int w = 0; w < n; ++w)
        for (int e = start[w]; e < start[w + 1]; ++e)
            if (to[e] == v) least = min(least, level[w] + 1);
    next[v] = least;
}

// bug pullInPlace: a vertex reads its neighbours' values while these replace them
__global__ void pullInPlace(const int* start, const int* to, int* value, int n)
{
    const int v = blockIdx.x * blockDim.x + threadIdx.x;
    if (v >= n) return;
    int sum = 0;
    for (int e = start[v]; e < start[v + 1]; ++e) sum += value[to[e]];  // RACE a
    value[v] = sum;  // RACE b
}

// ok edges: edges to larger vertices are counted by an atomic
__global__ void edgesAtomic(const int* start, const int* to, int* count, int n)
{
    const int v = blockIdx.x * blockDim.x + threadIdx.x;
    if (v >= n) return;
    for (int e = start[v]; e < start[v + 1]; ++e)
        if (to[e] > v) atomicAdd(count, 1);
}

// bug edges: a conditional edge is counted by ++
__global__ void edgesPlain(const int* start, const int* to, int* count, int n)
{
    const int v = blockIdx.x * blockDim.x + threadIdx.x;
    if (v >= n) return;
    for (int e = start[v]; e < start[v + 1]; ++e)
        if (to[e] > v) ++*count;  // RACE a b
}

// bug edges: a row's end is read one element too far, for the last vertex behind the array of rows
__global__ void edgesOneMore(const int* start, const int* to, int* count, int n)
{
    const int v = blockIdx.x * blockDim.x + threadIdx.x;
    if (v >= n) return;
    for (int e = start[v]; e < start[v + 2] - 2; ++e)  // OUTSIDE
        if (to[e] > v) atomicAdd(count, 1);
}

// ok worklist: a place in the list is claimed by an atomic
__global__ void worklistAtomic(const int* in, int* list, int* tail, int n)
{
    const int v = blockIdx.x * blockDim.x + threadIdx.x;
    if (v < n && in[v] % 3 == 0) list[atomicAdd(tail, 1)] = 3;
}

// bug worklist: two threads may claim one place
__global__ void worklistPlain(const int* in, int* list, int* tail, int n)
{
    const int v = blockIdx.x * blockDim.x + threadIdx.x;
    if (v < n && in[v] % 3 == 0) {
        const int place = *tail;  // RACE a
        *tail = place + 1;        // RACE b
        list[place] = 3;
    }
}

// bug worklist: items are taken while others still put theirs in
__global__ void worklistTaken(const int* in, int* list, int* tail, int n)
{
    const int v = blockIdx.x * blockDim.x + threadIdx.x;
    if (v < n && in[v] % 3 == 0) list[atomicAdd(tail, 1)] = 3;  // RACE a
    if (v < n && v < atomicAdd(tail, 0)) list[v] = max(list[v], 3);  // RACE b
}

// ok visited: the first to mark a vertex wins, by compare-and-swap
__global__ void visitedCas(const int* to, int* owner, int* count, int n)
{
    const int e = blockIdx.x * blockDim.x + threadIdx.x;
    if (e < n && atomicCAS(&owner[to[e]], 0, 1) == 0) atomicAdd(count, 1);
}

// bug visited: test, then set: two may find it unmarked
__global__ void visitedTestThenSet(const int* to, int* owner, int* count, int n)
{
    const int e = blockIdx.x * blockDim.x + threadIdx.x;
    if (e < n && owner[to[e]] == 0) {  // RACE a
        owner[to[e]] = 1;              // RACE b
        atomicAdd(count, 1);
    }
}

// bug visited: the mark is set by an atomic but tested without one
__global__ void visitedTestPlain(const int* to, int* owner, int* count, int n)
{
    const int e = blockIdx.x * blockDim.x + threadIdx.x;
    if (e >= n) return;
    if (owner[to[e]] == 1) return;                                     // RACE a
    if (atomicExch(&owner[to[e]], 1) == 0) atomicAdd(count, 1);        // RACE b
}

// ok roots: path compression by atomics alone
__global__ void compressedAtomic(int* parent, int* root, int n)
{
    const int v = blockIdx.x * blockDim.x + threadIdx.x;
    if (v >= n) return;
    int at = v, up = atomicAdd(&parent[at], 0);
    while (up != at) {
        const int further = atomicAdd(&parent[up], 0);
        atomicCAS(&parent[at], up, further);
        at = up;
        up = further;
    }
    root[v] = at;
}

// bug roots: path compression by plain loads and stores
__global__ void compressedPlain(int* parent, int* root, int n)
{
    const int v = blockIdx.x * blockDim.x + threadIdx.x;
    if (v >= n) return;
    int at = v, up = parent[at];        // RACE a
    while (up != at) {
        const int further = parent[up];  // RACE a
        parent[at] = further;            // RACE b
        at = up;
        up = further;
    }
    root[v] = at;
}

// ok permuted: a permutation scatters without collisions
__global__ void scatterPermuted(const int* where, int* out, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[where[i]] = i;
}

// bug halved: two neighbours scatter different values to one place
__global__ void scatterColliding(const int* in, int* out, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[in[i] / 2] = i;  // RACE a b
}

// ok counted: degrees by atomics, read after a barrier by the only block
__global__ void degreesBarrier(const int* to, int* degree, int* out, int n)
{
    const int t = threadIdx.x;
    atomicAdd(&degree[to[t]], 1);
    __syncthreads();
    out[t] = degree[t];
}

// bug counted: degrees by atomics, read before all are counted
__global__ void degreesEarly(const int* to, int* degree, int* out, int n)
{
    const int t = threadIdx.x;
    atomicAdd(&degree[to[t]], 1);  // RACE a
    out[t] = degree[t];            // RACE b
}

// bug counted: degrees without atomics
__global__ void degreesPlain(const int* to, int* degree, int* out, int n)
{
    const int t = threadIdx.x;
    degree[to[t]] += 1;  // RACE a b
    __syncthreads();
    out[t] = degree[t];
}
