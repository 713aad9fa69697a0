// Arithmetic of bfloats, one and two at a time, and what normalises rows of them.
#include <cuda_bf16.h>

extern "C" __global__ void one_by_one(const __nv_bfloat16 *__restrict__ a, const __nv_bfloat16 *__restrict__ b,
                                      __nv_bfloat16 *o, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    __nv_bfloat16 x = a[i], y = b[i];
    __nv_bfloat16 sum = __hadd(x, y), difference = __hsub(x, y), product = __hmul(x, y);
    __nv_bfloat16 chosen = __hlt(x, y) ? sum : difference;
    if (__hge(product, __hfma(x, y, sum))) chosen = __hadd(chosen, product);
    if (__hisnan(chosen)) chosen = __hmin(x, y);
    o[4 * i] = chosen;
    o[4 * i + 1] = __hmul(__hmax(x, y), __hneg(x));
    o[4 * i + 2] = __habs(y);
    o[4 * i + 3] = __hdiv(x, y);
}

extern "C" __global__ void two_by_two(const __nv_bfloat162 *__restrict__ a, const __nv_bfloat162 *__restrict__ b,
                                      __nv_bfloat162 *o, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    __nv_bfloat162 x = a[i], y = b[i];
    __nv_bfloat162 sum = __hfma2(x, y, __hmul2(x, y));
    sum = __hadd2(sum, __hsub2(x, y));
    sum = __hmax2(sum, __hmin2(x, __hneg2(y)));
    sum = __hfma2_relu(sum, x, y);
    if (__hbgt2(x, y)) sum = __habs2(sum);
    o[i] = __hmul2(sum, __hgt2(x, y));
}

extern "C" __global__ void normalise(const __nv_bfloat16 *__restrict__ x, __nv_bfloat16 *__restrict__ y, int columns) {
    const __nv_bfloat16 *row = x + blockIdx.x * columns;
    float greatest = -1e30f, sum = 0;
    for (int i = threadIdx.x; i < columns; i += 32) greatest = fmaxf(greatest, __bfloat162float(row[i]));
    for (int k = 16; k; k >>= 1) greatest = fmaxf(greatest, __shfl_xor_sync(~0u, greatest, k));
    for (int i = threadIdx.x; i < columns; i += 32) sum += __expf(__bfloat162float(row[i]) - greatest);
    for (int k = 16; k; k >>= 1) sum += __shfl_xor_sync(~0u, sum, k);
    for (int i = threadIdx.x; i < columns; i += 32)
        y[blockIdx.x * columns + i] = __float2bfloat16(__expf(__bfloat162float(row[i]) - greatest) / sum);
}
