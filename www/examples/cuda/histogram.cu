// A histogram of bytes into 64 bins. Each block counts in shared memory with atomics and adds its counts to
// the result once; lanes that meet in one bin take turns.
//
// Made with nvcc 13.5 by regenerate.sh:
//   nvcc -ptx -arch=sm_80 -O3 histogram.cu -o histogram.O3.ptx
//   nvcc -ptx -arch=sm_80 -Xcicc -O0 histogram.cu -o histogram.O0.ptx

#define BINS 64

extern "C" __global__ void histogram(int n, const unsigned char *data, unsigned *bins)
{
    __shared__ unsigned counts[BINS];
    for (int b = threadIdx.x; b < BINS; b += blockDim.x)
        counts[b] = 0;
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        atomicAdd(&counts[data[i] >> 2], 1);
    __syncthreads();
    for (int b = threadIdx.x; b < BINS; b += blockDim.x)
        if (counts[b] != 0)
            atomicAdd(&bins[b], counts[b]);
}
