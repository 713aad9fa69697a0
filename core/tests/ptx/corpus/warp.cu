// What lanes of a warp tell each other, and fences.
// Made with nvcc 13.5 by www/examples/cuda/regenerate.sh core/tests/ptx/corpus

extern "C" __global__ void shuffles(unsigned *out)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned v = out[i];
    v += __shfl_sync(0xffffffffu, v, 3);
    v += __shfl_up_sync(0xffffffffu, v, 1);
    v += __shfl_down_sync(0xffffffffu, v, 2, 16);
    v ^= __shfl_xor_sync(0xffffffffu, v, 4);
    float f = __shfl_down_sync(0xffffffffu, __uint_as_float(v), 8);
    out[i] = v + (f > 1.0f);
}

extern "C" __global__ void votes(unsigned *out)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned v = out[i];
    unsigned m = __activemask();
    m ^= __ballot_sync(0xffffffffu, v & 1);
    if (__all_sync(0xffffffffu, v > 3))
        m += 1;
    if (__any_sync(0xffffffffu, v > 7))
        m += 2;
    m += __match_any_sync(0xffffffffu, v & 7);
    int same;
    m += __match_all_sync(0xffffffffu, v, &same) + same;
    __syncwarp();
    out[i] = m;
}

extern "C" __global__ void reductions(int *out, unsigned mask)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    int v = out[i];
    int s = __reduce_add_sync(0xffffffffu, v) + __reduce_min_sync(0xffffffffu, v) + __reduce_max_sync(0xffffffffu, v);
    unsigned u = __reduce_add_sync(0xffffffffu, (unsigned)s) + __reduce_max_sync(0xffffffffu, (unsigned)v);
    if (v > 3)
        u ^= __reduce_or_sync(__activemask() & mask, (unsigned)v);
    u ^= __reduce_and_sync(0xffffffffu, (unsigned)v) + __reduce_xor_sync(0xffffffffu, (unsigned)v);
    out[i] = u;
}

extern "C" __global__ void counts(int *out)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    int v = out[i];
    int n = __syncthreads_count(v & 1);
    if (__syncthreads_or(v == 5))
        n += 1000;
    if (__syncthreads_and(v != 5))
        n += 2000;
    out[i] = n;
}

extern "C" __global__ void atomics(unsigned *out, unsigned long long *wide, float *sums, int n)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned v = out[i];
    atomicAdd(&out[n], v);
    atomicMax(&out[n + 1], v);
    atomicMin((int *)&out[n + 2], (int)v);
    unsigned kept = atomicCAS(&out[n + 3], 5u, v);
    kept += atomicExch(&out[n + 4], kept);
    kept += atomicInc(&out[n + 5], 7);
    kept += atomicOr(&out[n + 6], v) + atomicXor(&out[n + 7], v) + atomicAnd(&out[n + 8], v);
    atomicAdd(sums, (float)v);
    atomicAdd(&wide[0], (unsigned long long)v);
    __threadfence_block();
    __threadfence();
    __threadfence_system();
    out[i] = kept;
}
