// The listing stencil_1d of tutorial 002, 5.5.1, as it stands there, but for its comments and the name.
#define RADIUS 4
__constant__ float coef[RADIUS+1];

extern "C" __global__ void tutorialStencil(float *in, float *out, int N){
    __shared__ float smem[BDIM+2*RADIUS];

    int idx = blockIdx.x * blockDim.x + threadIdx.x;

    while(idx < N){
        int sidx = threadIdx.x + RADIUS;
        smem[sidx] = in[idx];
        if (threadIdx.x < RADIUS){
            smem[sidx - RADIUS] = in[idx - RADIUS];
            smem[sidx + BDIM] = in[idx + BDIM];
        }

        __syncthreads();

        float tmp = 0.0f;
        #pragma unroll
        for(int i = 1; i <= RADIUS; i++){
            tmp += coef[i] * (smem[sidx + i] - smem[sidx - i]);
        }
        out[idx] = tmp;
        idx += gridDim.x * blockDim.x;
    }
}
