// A bilateral filter along the rows of an image: a pixel is averaged with its two neighbours, weighted by how
// much they resemble it. Each thread walks down a strip with a stride, and what one step loads as "next" and
// "here" the following step loads again as "here" and "before".
//
// Made with nvcc 13.5 by regenerate.sh:
//   nvcc -ptx -arch=sm_80 -O3 bilateral.cu -o bilateral.O3.ptx
//   nvcc -ptx -arch=sm_80 -Xcicc -O0 bilateral.cu -o bilateral.O0.ptx

__device__ static float likeness(float a, float b, float sharpness)
{
    float d = a - b;
    return exp2f(-sharpness * d * d);
}

extern "C" __global__ void bilateral(int strips, int steps, float sharpness, const float *in, float *out)
{
    int strip = blockIdx.x * blockDim.x + threadIdx.x;
    if (strip >= strips)
        return;
#pragma unroll 1
    for (int s = 1; s < steps - 1; s++) {
        float before = in[(s - 1) * strips + strip];
        float here = in[s * strips + strip];
        float next = in[(s + 1) * strips + strip];
        float w0 = likeness(before, here, sharpness);
        float w1 = likeness(next, here, sharpness);
        out[s * strips + strip] = (w0 * before + here + w1 * next) / (w0 + 1.0f + w1);
    }
}
