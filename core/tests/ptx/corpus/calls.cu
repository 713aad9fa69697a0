// Functions, recursion, aggregates by value, constants, local arrays, switches.
// Made with nvcc 13.5 by www/examples/cuda/regenerate.sh core/tests/ptx/corpus

struct Pair {
    float a;
    int b;
};

__constant__ float table[8] = {1, 2, 3, 4, 5, 6, 7, 8};
__device__ int counter = 3;
__device__ int blank[16];
extern __shared__ int scratch[];

__device__ __noinline__ int gcd(int a, int b) { return b == 0 ? a : gcd(b, a % b); }

__device__ __noinline__ unsigned ackermann(unsigned m, unsigned n)
{
    if (m == 0)
        return n + 1;
    return ackermann(m - 1, n == 0 ? 1 : ackermann(m, n - 1));
}

__device__ __noinline__ Pair swapped(Pair p, float s)
{
    Pair q;
    q.a = p.b * s;
    q.b = (int)p.a;
    return q;
}

__device__ __noinline__ void store(float *p, float v, bool c)
{
    if (c)
        *p = v;
}

__device__ __noinline__ int rotate(int i) { return scratch[(i + 1) & 31]; }

extern "C" __global__ void calls(int *out, float *f, Pair p)
{
    int i = threadIdx.x;
    scratch[i & 31] = i & 31;
    __syncthreads();
    out[i] = gcd(out[i], 12 + i) + ackermann(i & 1, 2) + rotate(i);
    Pair q = swapped(p, f[i]);
    store(f + i, q.a + table[i & 7], q.b > 3);
    atomicAdd(&counter, q.b);
    blank[i & 15] = q.b;
}

extern "C" __global__ void locals(float *f, int n)
{
    float a[8];
    for (int i = 0; i < 8; i++)
        a[i] = f[i * 3];
    float s = 0;
    for (int i = 0; i < n; i++) {
        s += a[(i * 5 + n) & 7];
        a[i & 7] = s;
    }
    f[threadIdx.x] = s + a[n & 7];
}

extern "C" __global__ void cases(int *p, int n)
{
    int i = threadIdx.x;
    switch (p[i]) {
    case 0: p[i] = n * 3; break;
    case 1: p[i] = n / 3; break;
    case 2: p[i] = n % 3; break;
    case 3: p[i] = n ^ 3; break;
    case 4: p[i] = n << 3; break;
    case 5: p[i] = n - 31; break;
    case 7: p[i] = n * n; break;
    default: p[i] = 0;
    }
}
