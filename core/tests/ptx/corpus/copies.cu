// Asynchronous copies to shared memory, as pipelines of the CUDA headers make them.

#include <cuda_pipeline.h>

// Sums of tiles, the next of which is on its way while one is summed.
extern "C" __global__ void two_buffers(int tiles, const float4 *from, float *to) {
    __shared__ float4 buffer[2][64];
    const int t = threadIdx.x;
    float sum = 0.0f;
    __pipeline_memcpy_async(&buffer[0][t], &from[t], sizeof(float4));
    __pipeline_commit();
    for (int tile = 0; tile < tiles; ++tile) {
        if (tile + 1 < tiles) {
            __pipeline_memcpy_async(&buffer[(tile + 1) & 1][t], &from[64 * (tile + 1) + t], sizeof(float4));
        }
        __pipeline_commit();
        __pipeline_wait_prior(1);
        __syncthreads();
        const float4 value = buffer[tile & 1][63 - t];
        sum += value.x * value.y + value.z * value.w;
        __syncthreads();
    }
    to[t] = sum;
}

// The last bytes of what is copied are zeros.
extern "C" __global__ void with_zeros(const double *from, const int *words, double *to) {
    __shared__ double whole[64];
    __shared__ int parts[64];
    const int t = threadIdx.x;
    __pipeline_memcpy_async(&whole[t], &from[t], sizeof(double), 4);
    __pipeline_memcpy_async(&parts[t], &words[t], sizeof(int));
    __pipeline_commit();
    __pipeline_wait_prior(0);
    __syncthreads();
    to[t] = whole[63 - t] + parts[63 - t];
}
