// Floats: fast and exact functions, every rounding, conversions, doubles.
// Made with nvcc 13.5 by www/examples/cuda/regenerate.sh core/tests/ptx/corpus

extern "C" __global__ void singles(float *out)
{
    int i = threadIdx.x;
    float x = out[i];
    float r = __sinf(x) + __cosf(x) + __log2f(x) + exp2f(x) + rsqrtf(x) + __frcp_rn(x) + sqrtf(x) + fabsf(x);
    r += fminf(x, 2.0f) + fmaxf(x, 3.0f) + floorf(x) + ceilf(x) + rintf(x) + truncf(x) + copysignf(x, r);
    r += __fdividef(x, 3.0f) + x / 3.0f + __fadd_rz(x, r) + __fmul_ru(x, r) + __saturatef(x) - x;
    out[i] = r + __int_as_float(__float_as_int(r) ^ 1) + (float)(int)x + (float)(unsigned)x;
}

extern "C" __global__ void doubles(double *out, float *singles)
{
    int i = threadIdx.x;
    double d = out[i];
    float x = singles[i];
    d = sqrt(d) + fma(d, d, 1.0) + d / 3.0 + fabs(d) + fmin(d, 2.0) + (double)x + (double)i + rint(d) - d;
    out[i] = d;
    singles[i] = (float)d + (float)(long long)d + (float)__double2uint_rn(d);
}

extern "C" __global__ void library(float *out)
{
    int i = threadIdx.x;
    out[i] = expf(out[i]) + logf(out[i]) + tanhf(out[i]) + sinf(out[i]);
}
