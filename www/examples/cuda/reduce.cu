// The sum of an array, one partial sum a block: a tree in shared memory whose size the launch gives. Half of
// the active threads leave at each level.
//
// Made with nvcc 13.5 by regenerate.sh:
//   nvcc -ptx -arch=sm_80 -O3 reduce.cu -o reduce.O3.ptx
//   nvcc -ptx -arch=sm_80 -Xcicc -O0 reduce.cu -o reduce.O0.ptx

extern __shared__ float partial[];

extern "C" __global__ void reduce(int n, const float *in, float *sums)
{
    unsigned lane = threadIdx.x;
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    partial[lane] = i < n ? in[i] : 0.0f;
    __syncthreads();
    for (unsigned half = blockDim.x / 2; half > 0; half /= 2) {
        if (lane < half)
            partial[lane] += partial[lane + half];
        __syncthreads();
    }
    if (lane == 0)
        sums[blockIdx.x] = partial[0];
}
