// A transpose, out[c * rows + r] = in[r * cols + c], by bulk tensor copies.
//
// One thread of a block asks the tensor unit for a tile of 64x64, two boxes of 64 rows by 32 columns; the hardware
// calculates the addresses and swizzles a box's rows of 128 bytes, so that a warp's reads of 16 bytes take each bank
// once a phase. Each thread then turns a block of 4x4 elements around in its registers and stores it as vectors.
// Constraints: sm_90; rows and columns that are multiples of 4, as tensors' rows begin at multiples of 16 bytes.
// From: CUDA C++ Programming Guide, "Tensor Memory Access"; PTX ISA, "cp.async.bulk.tensor", "mbarrier".

#include <cuda.h>
#include <cuda_runtime.h>

constexpr int TILE = 64, BOX = 32, BLOCK = 256;
constexpr int ROW_BYTES = BOX * sizeof(float);  // 128: the swizzle's period in x

static __device__ unsigned int shared_address(const void* pointer)
{
    return (unsigned int)__cvta_generic_to_shared(pointer);
}

static __global__ void __launch_bounds__(BLOCK)
    transpose_tensor(const __grid_constant__ CUtensorMap map, float* out, int rows, int cols)
{
    __shared__ alignas(1024) char tile[TILE / BOX][TILE * ROW_BYTES];  // the swizzle counts from a multiple of 1024
    __shared__ unsigned long long arrived;
    // Blocks go down the rows first, as those of our kernels do.
    const int t = threadIdx.x, top = blockIdx.x * TILE, left = blockIdx.y * TILE;

    if (t == 0) {
        asm volatile("mbarrier.init.shared.b64 [%0], 1;" ::"r"(shared_address(&arrived)) : "memory");
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
        asm volatile("mbarrier.arrive.expect_tx.shared.b64 _, [%0], %1;" ::"r"(shared_address(&arrived)),
                     "r"((int)sizeof(tile))
                     : "memory");
        for (int box = 0; box < TILE / BOX; ++box) {
            asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes "
                         "[%0], [%1, {%2, %3}], [%4];" ::"r"(shared_address(tile[box])),
                         "l"(&map), "r"(left + box * BOX), "r"(top), "r"(shared_address(&arrived))
                         : "memory");
        }
    }
    __syncthreads();  // the barrier is there for everybody
    asm volatile("{\n\t"
                 ".reg .pred done;\n\t"
                 "again_%=:\n\t"
                 "mbarrier.try_wait.parity.shared.b64 done, [%0], 0;\n\t"
                 "@!done bra again_%=;\n\t"
                 "}" ::"r"(shared_address(&arrived))
                 : "memory");

    // Blocks of 4x4: a warp takes 4 of them across and 8 down, so that it stores sectors whole.
    const int lane = t % 32, warp = t / 32;
    const int across = warp % (TILE / 16) * 4 + lane % 4, down = warp / (TILE / 16) * 8 + lane / 4;
    const char* box = tile[across / 8];
    float4 x[4];
#pragma unroll
    for (int k = 0; k < 4; ++k) {
        const int row = 4 * down + k;
        x[k] = *(const float4*)(box + row * ROW_BYTES + (across % 8 ^ row % 8) * 16);
    }
    const float4 turned[4] = {
        {x[0].x, x[1].x, x[2].x, x[3].x},
        {x[0].y, x[1].y, x[2].y, x[3].y},
        {x[0].z, x[1].z, x[2].z, x[3].z},
        {x[0].w, x[1].w, x[2].w, x[3].w},
    };
    if (top + 4 * down < rows) {
#pragma unroll
        for (int i = 0; i < 4; ++i) {
            const int column = left + 4 * across + i;
            if (column < cols) {
                *(float4*)(out + (long long)column * rows + top + 4 * down) = turned[i];
            }
        }
    }
}

using Encode = CUresult (*)(CUtensorMap*, CUtensorMapDataType, cuuint32_t, void*, const cuuint64_t*, const cuuint64_t*,
                            const cuuint32_t*, const cuuint32_t*, CUtensorMapInterleave, CUtensorMapSwizzle,
                            CUtensorMapL2promotion, CUtensorMapFloatOOBfill);

// The driver's function that describes an array to the tensor unit, found without linking the driver's library.
static cudaError_t find(Encode& encode)
{
    cudaDriverEntryPointQueryResult found;
    const cudaError_t error = cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", (void**)&encode, 12000,
                                                               cudaEnableDefault, &found);
    return error || found == cudaDriverEntryPointSuccess ? error : cudaErrorNotSupported;
}

extern "C" int tensorTranspose(float* in, float* out, long long rows, long long cols, cudaStream_t stream)
{
    static Encode encode = nullptr;
    if (!encode) {
        if (cudaError_t error = find(encode)) return error;
    }
    CUtensorMap map;
    const cuuint64_t extent[] = {(cuuint64_t)cols, (cuuint64_t)rows}, row_bytes[] = {(cuuint64_t)cols * sizeof(float)};
    const cuuint32_t box[] = {BOX, TILE}, step[] = {1, 1};
    const CUresult status = encode(&map, CU_TENSOR_MAP_DATA_TYPE_FLOAT32, 2, in, extent, row_bytes, box, step,
                                   CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_128B,
                                   CU_TENSOR_MAP_L2_PROMOTION_L2_256B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
    if (status) return status;
    const dim3 grid((rows + TILE - 1) / TILE, (cols + TILE - 1) / TILE);
    transpose_tensor<<<grid, BLOCK, 0, stream>>>(map, out, (int)rows, (int)cols);
    return cudaGetLastError();
}
