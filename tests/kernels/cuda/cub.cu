// CUB's collectives of a block and of a warp. Each thread writes a row of results for each call; test_cub.py knows them.
#include <cub/cub.cuh>
#include <cuda/functional>
#include <cuda/std/functional>

constexpr int THREADS = 96, ITEMS = 4;

// y = scale * x + offset: composing two of them is associative, but not commutative. 12 bytes, more than a shuffle takes.
struct Step {
    unsigned scale, offset, count;
};

struct Then {
    __device__ Step operator()(const Step &first, const Step &second) const
    {
        return {first.scale * second.scale, first.offset * second.scale + second.offset, first.count + second.count};
    }
};

__device__ unsigned digest(const Step &s) { return s.scale * 31 + s.offset * 7 + s.count; }

// The running total of a block that takes several tiles.
struct Running {
    int total;
    __device__ int operator()(int tile)
    {
        const int before = total;
        total += tile;
        return before;
    }
};

extern "C" __global__ void reductions(const int *in, int *out, unsigned *steps, int valid)
{
    using Raking = cub::BlockReduce<int, 8, cub::BLOCK_REDUCE_RAKING, 12>;
    __shared__ typename Raking::TempStorage shared;
    const int t = threadIdx.y * 8 + threadIdx.x, x = in[t];
    int pair[2] = {x, in[THREADS + t]};
    const int sum = cub::BlockReduce<int, 8, cub::BLOCK_REDUCE_WARP_REDUCTIONS, 12>().Sum(x);
    __syncthreads();
    const int largest = Raking(shared).Reduce(x, cuda::maximum<>());
    __syncthreads();
    const int some = Raking(shared).Sum(x, valid);
    __syncthreads();
    const int smallest = Raking(shared).Reduce(pair, cuda::minimum<>());
    __syncthreads();
    const int few = Raking(shared).Reduce(x, cuda::minimum<>(), valid);
    __syncthreads();
    const Step all = cub::BlockReduce<Step, 8, cub::BLOCK_REDUCE_RAKING, 12>().Reduce(
        Step{unsigned(x) | 1, unsigned(t), 1}, Then());
    if (t == 0) {
        out[0] = sum;
        out[1] = largest;
        out[2] = some;
        out[3] = smallest;
        out[4] = few;
        steps[0] = digest(all);
    }
}

extern "C" __global__ void scans(const int *in, int *out, unsigned *steps)
{
    using Scan = cub::BlockScan<int, THREADS>;
    using Steps = cub::BlockScan<Step, THREADS, cub::BLOCK_SCAN_WARP_SCANS>;
    __shared__ typename Scan::TempStorage shared;
    __shared__ typename Steps::TempStorage shared_steps;
    const int t = threadIdx.x, x = in[t];
    int row = 0, total, result, items[ITEMS], results[ITEMS];
    for (int i = 0; i < ITEMS; ++i) items[i] = in[t * ITEMS + i];
    auto put = [&](int value) { out[row++ * THREADS + t] = value; };

    Scan(shared).InclusiveSum(x, result), put(result), __syncthreads();
    Scan(shared).ExclusiveSum(x, result), put(result), __syncthreads();
    Scan(shared).ExclusiveSum(x, result, total), put(result), put(total), __syncthreads();
    Scan(shared).InclusiveScan(x, result, cuda::maximum<>()), put(result), __syncthreads();
    Scan(shared).ExclusiveScan(x, result, 7, cuda::maximum<>(), total), put(result), put(total), __syncthreads();
    Scan(shared).ExclusiveScan(x, result, cuda::maximum<>()), put(t ? result : 0), __syncthreads();
    Scan(shared).ExclusiveSum(items, results), put(results[0]), put(results[3]), __syncthreads();
    Scan(shared).InclusiveSum(items, results, total), put(results[0]), put(results[3]), put(total), __syncthreads();
    Scan(shared).ExclusiveScan(items, results, 3, cuda::maximum<>()), put(results[0]), put(results[2]), __syncthreads();
    Scan(shared).InclusiveScan(items, items, cuda::maximum<>()), put(items[0]), put(items[3]), __syncthreads();
    Running running{1000};
    for (int tile = 0; tile < 2; ++tile) {
        Scan(shared).ExclusiveSum(in[tile * THREADS + t], result, running), put(result), __syncthreads();
    }
    Step after;
    Steps(shared_steps).InclusiveScan(Step{unsigned(x) | 1, unsigned(t), 1}, after, Then());
    steps[t] = digest(after);
}

extern "C" __global__ void warps(const int *in, int *out, unsigned *steps)
{
    using Reduce = cub::WarpReduce<int>;
    using ReduceOf8 = cub::WarpReduce<int, 8>;
    using Scan = cub::WarpScan<int>;
    using ScanOf8 = cub::WarpScan<int, 8>;
    using Steps = cub::WarpScan<Step>;
    __shared__ typename Reduce::TempStorage reduce[THREADS / 32];
    __shared__ typename ReduceOf8::TempStorage reduce_of_8[THREADS / 8];
    __shared__ typename Scan::TempStorage scan[THREADS / 32];
    __shared__ typename ScanOf8::TempStorage scan_of_8[THREADS / 8];
    __shared__ typename Steps::TempStorage scan_of_steps[THREADS / 32];
    const int t = threadIdx.x, w = t / 32, lane = t % 32, x = in[t];
    int row = 0, result, other, total;
    auto put = [&](int value) { out[row++ * THREADS + t] = value; __syncwarp(); };

    result = Reduce(reduce[w]).Sum(x), put(lane ? 0 : result);
    result = Reduce(reduce[w]).Reduce(x, cuda::maximum<>(), 20), put(lane ? 0 : result);
    result = ReduceOf8(reduce_of_8[t / 8]).Reduce(x, cuda::minimum<>()), put(t % 8 ? 0 : result);
    result = Reduce(reduce[w]).HeadSegmentedSum(x, lane % 5 == 0), put(lane % 5 ? 0 : result);
    result = Reduce(reduce[w]).TailSegmentedReduce(x, lane % 5 == 4, cuda::maximum<>()), put(lane % 5 ? 0 : result);
    Scan(scan[w]).InclusiveSum(x, result), put(result);
    Scan(scan[w]).ExclusiveSum(x, result, total), put(result), put(total);
    Scan(scan[w]).Scan(x, result, other, 5, cuda::maximum<>()), put(result), put(other);
    ScanOf8(scan_of_8[t / 8]).ExclusiveScan(x, result, -9, cuda::maximum<>()), put(result);
    put(Scan(scan[w]).Broadcast(x, 3));
    Step after;
    Steps(scan_of_steps[w]).InclusiveScan(Step{unsigned(x) | 1, unsigned(t), 1}, after, Then());
    steps[t] = digest(after);
}

template <cub::BlockLoadAlgorithm LOAD, cub::BlockStoreAlgorithm STORE>
__device__ void copy(const int *in, int *out, int *held, int valid)
{
    using Load = cub::BlockLoad<int, THREADS, ITEMS, LOAD>;
    using Store = cub::BlockStore<int, THREADS, ITEMS, STORE>;
    __shared__ union {
        typename Load::TempStorage load;
        typename Store::TempStorage store;
    } shared;
    int items[ITEMS];
    Load(shared.load).Load(in, items, valid, -1);
    for (int i = 0; i < ITEMS; ++i) held[threadIdx.x * ITEMS + i] = items[i];
    __syncthreads();
    Store(shared.store).Store(out, items, valid);
    __syncthreads();
    int whole[ITEMS];
    Load(shared.load).Load(in, whole);
    __syncthreads();
    Store(shared.store).Store(out + THREADS * ITEMS, whole);
    __syncthreads();
}

extern "C" __global__ void copies(const int *in, int *out, int *held, int valid)
{
    const int size = THREADS * ITEMS;
    copy<cub::BLOCK_LOAD_DIRECT, cub::BLOCK_STORE_DIRECT>(in, out, held, valid);
    copy<cub::BLOCK_LOAD_VECTORIZE, cub::BLOCK_STORE_VECTORIZE>(in, out + 2 * size, held + size, valid);
    copy<cub::BLOCK_LOAD_TRANSPOSE, cub::BLOCK_STORE_TRANSPOSE>(in, out + 4 * size, held + 2 * size, valid);
    copy<cub::BLOCK_LOAD_WARP_TRANSPOSE, cub::BLOCK_STORE_WARP_TRANSPOSE>(in, out + 6 * size, held + 3 * size, valid);
    copy<cub::BLOCK_LOAD_STRIPED, cub::BLOCK_STORE_STRIPED>(in, out + 8 * size, held + 4 * size, valid);
}

extern "C" __global__ void sorts(const int *in, int *out, const float *keys, float *sorted, unsigned *bins)
{
    using Sort = cub::BlockRadixSort<int, THREADS, ITEMS, int>;
    using SortFloats = cub::BlockRadixSort<float, THREADS, ITEMS>;
    using Exchange = cub::BlockExchange<int, THREADS, ITEMS>;
    using Histogram = cub::BlockHistogram<unsigned char, THREADS, ITEMS, 16>;
    __shared__ union {
        typename Sort::TempStorage sort;
        typename SortFloats::TempStorage floats;
        typename Exchange::TempStorage exchange;
        typename Histogram::TempStorage histogram;
    } shared;
    __shared__ unsigned counted[16];
    const int t = threadIdx.x, size = THREADS * ITEMS;
    int items[ITEMS], places[ITEMS], ranks[ITEMS];
    float floats[ITEMS];
    unsigned char bytes[ITEMS];
    auto load = [&] {
        __syncthreads();
        for (int i = 0; i < ITEMS; ++i) {
            const int at = t * ITEMS + i;
            items[i] = in[at], places[i] = at, ranks[i] = (at * 5) % size, floats[i] = keys[at], bytes[i] = in[at] & 15;
        }
    };
    auto put = [&](int row, const int (&values)[ITEMS]) {
        for (int i = 0; i < ITEMS; ++i) out[row * size + t * ITEMS + i] = values[i];
    };
    load(), Sort(shared.sort).Sort(items, places), put(0, items), put(1, places);
    load(), Sort(shared.sort).SortDescending(items, places, 4, 12), put(2, places);
    load(), Sort(shared.sort).SortBlockedToStriped(items, places), put(3, items);
    load(), Exchange(shared.exchange).BlockedToStriped(items), put(4, items);
    load(), Exchange(shared.exchange).StripedToBlocked(items, places), put(5, places);
    load(), Exchange(shared.exchange).ScatterToBlocked(items, ranks), put(6, items);
    load(), Exchange(shared.exchange).BlockedToWarpStriped(items, places), put(7, places);
    load(), SortFloats(shared.floats).SortDescending(floats);
    for (int i = 0; i < ITEMS; ++i) sorted[t * ITEMS + i] = floats[i];
    load(), Histogram(shared.histogram).Histogram(bytes, counted);
    __syncthreads();
    if (t < 16) bins[t] = counted[t];
}
