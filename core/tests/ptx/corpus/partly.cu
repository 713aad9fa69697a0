// What the source leaves undefined: the rest of a vector that is handed on whole, and a variable that nothing sets.
// Made with nvcc 13.5 by www/examples/cuda/regenerate.sh core/tests/ptx/corpus

struct Four {
    float x, y, z, w;
};

__device__ __noinline__ float first_two(Four v) { return v.x + v.y; }

extern "C" __global__ void partly(float* out, const float* in, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    Four v;
    v.x = in[i];
    v.y = v.x + 1.0f;
    out[i] = first_two(v);
}

// Lanes 16 to 31 take from lanes 0 to 15 what those have set.
extern "C" __global__ void handed_on(int* out) {
    int value;
    int lane = threadIdx.x & 31;
    int taken = __shfl_sync(0xffffffffu, value, lane & 15);
    out[threadIdx.x] = taken - taken + lane;
}
