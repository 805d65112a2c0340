// What cooperative groups compute, for groups of each kind and size. Each thread writes a row for each group that it is
// in; tests/test_groups.py knows what has to be there.
#include <cooperative_groups.h>
#include <cooperative_groups/memcpy_async.h>
#include <cooperative_groups/reduce.h>
#include <cooperative_groups/scan.h>

namespace cg = cooperative_groups;

constexpr int COLUMNS = 28;

struct Pair {
    double first;
    int second;
};

__device__ int valueOf(int thread) { return (thread * 37 + 11) % 64; }

template <class Group>
__device__ void describe(const Group& group, int* row)
{
    row[0] = group.thread_rank();
    row[1] = group.size();
    row[2] = group.meta_group_rank();
    row[3] = group.meta_group_size();
    row[4] = cg::thread_rank(group) + 100 * cg::group_size(group) + 10000 * group.num_threads();
}

// What groups of all sizes have. A GPU leaves open what reduce and scan do where an operator is not associative.
template <class Group>
__device__ __noinline__ void combine(const Group& group, int v, int* row)
{
    const int last = group.size() - 1;
    row[5] = group.shfl(v, last);
    row[6] = group.any(v % 7 == 0);
    row[7] = group.all(v % 7 != 0);
    group.sync();
    row[8] = cg::reduce(group, v, cg::plus<int>());
    row[9] = cg::reduce(group, v, cg::less<int>());
    row[10] = cg::reduce(group, v, cg::greater<int>());
    row[11] = cg::reduce(group, v, cg::bit_and<int>());
    row[12] = cg::reduce(group, v, cg::bit_or<int>());
    row[13] = cg::reduce(group, (unsigned long long)v << 32, cg::bit_xor<unsigned long long>()) >> 32;
    row[14] = 4 * cg::reduce(group, v * 0.25f, cg::plus<float>());
    row[15] = cg::reduce(group, v, [](int a, int b) { return (a + b) % 1009; });
    row[16] = cg::inclusive_scan(group, v);
    row[17] = cg::inclusive_scan(group, v, cg::greater<int>());
    row[18] = cg::exclusive_scan(group, v);
    row[19] = 4 * cg::exclusive_scan(group, v * 0.25, cg::plus<double>());
    row[20] = cg::exclusive_scan(group, v, [](int a, int b) { return a > b ? a : b; });
}

// What only groups of at most a warp have.
template <class Group>
__device__ __noinline__ void exchange(const Group& group, int v, int* row)
{
    row[21] = group.shfl_up(v, 1u);
    row[22] = group.shfl_down(v, 2u);
    row[23] = group.ballot(v & 1);
    row[24] = group.match_any(v % 3);
    int same = -1;
    const unsigned those = group.match_all(v / 64, same);
    row[25] = those + (same == 1);
    const Pair pair = group.shfl(Pair{v * 0.5, v}, 0);
    row[26] = pair.second + int(2 * pair.first);
    row[27] = cg::invoke_one_broadcast(group, [](int x) { return x + 1000; }, int(group.size()));
}

template <class Group>
__device__ void all(const Group& group, int v, int* row)
{
    describe(group, row);
    combine(group, v, row);
    exchange(group, v, row);
}

template <int size>
__device__ void tile(int v, int* row)
{
    const auto own = cg::tiled_partition<size>(cg::this_thread_block());
    all(own, v, row);
    const cg::thread_block_tile<size> plain = own;
    row[26] += own.shfl_xor(v, size / 2) + 1000 * plain.meta_group_rank();
}

template <int size>
__device__ void largeTile(const cg::thread_block& block, int v, int* row)
{
    const auto own = cg::tiled_partition<size>(block);
    describe(own, row);
    combine(own, v, row);
    own.sync();
}

// Groups of each thread, in this order: tiles of 1 to 32; coalesced threads in three branches; their tiles of 4; parts
// by label and by predicate, of tiles and of coalesced threads; tiles of a tile.
extern "C" __global__ void smallGroups(int* out)
{
    const cg::thread_block block = cg::this_thread_block();
    const int t = block.thread_rank(), v = valueOf(t);
    int* row = out + t * 14 * COLUMNS;
    tile<1>(v, row);
    tile<2>(v, row += COLUMNS);
    tile<4>(v, row += COLUMNS);
    tile<8>(v, row += COLUMNS);
    tile<16>(v, row += COLUMNS);
    tile<32>(v, row += COLUMNS);

    const auto warp = cg::tiled_partition<32>(block);
    row += COLUMNS;
    for (int branch = 0; branch < 3; ++branch) {
        if (branch == (t % 3 == 0 ? 0 : t % 32 < 20 ? 1 : 2)) {
            const cg::coalesced_group own = cg::coalesced_threads();
            all(own, v, row);
        }
        warp.sync();
    }
    row += COLUMNS;
    if (t % 3 != 1) {
        const cg::coalesced_group own = cg::tiled_partition(cg::coalesced_threads(), 4);
        all(own, v, row);
    }
    warp.sync();
    all(cg::labeled_partition(warp, v % 5), v, row += COLUMNS);
    all(cg::binary_partition(warp, v % 4 == 0), v, row += COLUMNS);
    row += COLUMNS;
    if (t % 32 >= 5) all(cg::labeled_partition(cg::coalesced_threads(), (long long)(v % 2)), v, row);
    warp.sync();
    row += COLUMNS;
    if (t % 32 < 30) all(cg::binary_partition(cg::coalesced_threads(), t % 32 < 16), v, row);
    warp.sync();
    all(cg::tiled_partition<4>(cg::tiled_partition<16>(block)), v, row += COLUMNS);
    warp.sync();
    all(cg::coalesced_threads(), v, row += COLUMNS);
}

extern "C" __global__ void largeGroups(int* out)
{
    __shared__ cg::block_tile_memory<512> memory;
    const cg::thread_block block = cg::this_thread_block(memory);
    const int t = block.thread_rank(), v = valueOf(t);
    int* row = out + t * 4 * COLUMNS;
    largeTile<64>(block, v, row);
    largeTile<128>(block, v, row += COLUMNS);
    largeTile<256>(block, v, row += COLUMNS);
    largeTile<512>(block, v, row += COLUMNS);
}

__device__ int countOf(const cg::thread_group& group)
{
    group.sync();
    return group.size() + 1000 * group.thread_rank();
}

// Groups whose kind is known at run time only, and what blocks and grids say of themselves.
extern "C" __global__ void anyGroups(int* out)
{
    const cg::thread_block block = cg::this_thread_block();
    const cg::grid_group grid = cg::this_grid();
    int* row = out + grid.thread_rank() * 16;
    row[0] = countOf(block);
    row[1] = countOf(cg::tiled_partition(block, 16));
    row[2] = countOf(cg::tiled_partition(cg::tiled_partition(block, 32), 8));
    row[3] = countOf(cg::tiled_partition(block, 1));
    row[4] = cg::this_thread().size() + cg::this_thread().thread_rank();
    row[5] = grid.size();
    row[6] = grid.block_rank() + 100 * grid.num_blocks();
    row[7] = grid.thread_index().x + 100 * grid.thread_index().y + 10000 * grid.thread_index().z;
    row[8] = grid.dim_threads().x + 100 * grid.dim_threads().y + 10000 * grid.dim_threads().z;
    row[9] = block.group_index().x + 10 * block.group_index().y + 100 * grid.block_index().x;
    row[10] = block.thread_index().x + 10 * block.thread_index().y + 100 * block.thread_index().z;
    row[11] = block.dim_threads().x + 10 * block.dim_threads().y + 100 * block.group_dim().z;
    row[12] = block.size() + 1000 * block.num_threads();
    row[13] = grid.is_valid();
    row[14] = 0;
    cg::invoke_one(block, [&] { row[14] = 1; });
    cg::sync(block);
    row[15] = grid.num_threads() + grid.dim_blocks().x + grid.group_dim().x;
}

// Each round every block needs what all others wrote in the round before.
extern "C" __global__ void rounds(int* state, int* out, int count)
{
    __shared__ int mine[4];
    extern __shared__ int dynamic[];
    const auto grid = cg::this_grid();
    const int i = grid.thread_rank(), n = grid.size();
    mine[threadIdx.x % 4] = blockIdx.x;
    dynamic[threadIdx.x] = i;
    for (int round = 0; round < count; ++round) {
        const int next = state[(i + blockDim.x + 1) % n] + mine[threadIdx.x % 4] + dynamic[threadIdx.x];
        grid.sync();
        state[i] = next;
        auto token = grid.barrier_arrive();
        dynamic[threadIdx.x] += round;
        grid.barrier_wait(static_cast<cg::grid_group::arrival_token&&>(token));
    }
    out[i] = state[n - 1 - i] + 1000 * grid.is_valid();
}

// Block by block: each spins until the one before it is done, in the order that is given.
extern "C" __global__ void turns(int* turn, int* out, const int* place)
{
    if (threadIdx.x == 0) {
        while (atomicCAS(turn, place[blockIdx.x], -1) != place[blockIdx.x]) { }
        __threadfence();
        volatile int* const before = out + (blockIdx.x + gridDim.x - 1) % gridDim.x;
        out[blockIdx.x] = 10 * *before + place[blockIdx.x];
        __threadfence();
        atomicExch(turn, place[blockIdx.x] + 1);
    }
}

// The block copies a tile of numbers ahead of the one that it adds up.
extern "C" __global__ void copiesAhead(const int* in, int* out, int tiles)
{
    extern __shared__ int buffer[];
    const auto block = cg::this_thread_block();
    const int n = block.size();
    cg::memcpy_async(block, buffer, in, sizeof(int) * n);
    int sum = 0;
    for (int i = 0; i < tiles; ++i) {
        if (i + 1 < tiles) {
            cg::memcpy_async(block, buffer + (i + 1) % 2 * n, n, in + (i + 1) * n, n);
            cg::wait_prior<1>(block);
        } else {
            cg::wait(block);
        }
        sum += (i + 1) * buffer[i % 2 * n + (threadIdx.x + 1) % n];
        block.sync();
    }
    out[threadIdx.x] = sum;
}
