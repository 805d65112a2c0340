// __reduce_*_sync, which GPUs have from sm_80 on. 9 results a lane.
extern "C" __global__ void warpReductions(const unsigned *masks, unsigned *out) {
    unsigned i = threadIdx.x, mask = masks[blockIdx.x], *mine = out + (blockIdx.x * 32 + i) * 9;
    if (!(mask >> i & 1)) return;
    mine[0] = __reduce_add_sync(mask, i);
    mine[1] = (unsigned)__reduce_add_sync(mask, (int)i - 20);
    mine[2] = (unsigned)__reduce_min_sync(mask, (int)i - 7);
    mine[3] = __reduce_min_sync(mask, i - 7u);
    mine[4] = (unsigned)__reduce_max_sync(mask, (int)i - 7);
    mine[5] = __reduce_max_sync(mask, i - 7u);
    mine[6] = __reduce_and_sync(mask, i | 0x100u);
    mine[7] = __reduce_or_sync(mask, 1u << i);
    mine[8] = __reduce_xor_sync(mask, i * 77u);
}
