// A bilateral filter along the rows of an image where each thread goes over consecutive pixels: what one round loads as
// "next" and "here", the following one loads as "here" and "before".
//
//   nvcc -ptx -arch=sm_80 -O3 bilateral.cu -o bilateral.O3.ptx

extern "C" __global__ void bilateral_rows(int width, int each, float sharpness, const float *__restrict__ in,
                                          float *__restrict__ out)
{
    int row = blockIdx.x * blockDim.y + threadIdx.y;
    int start = threadIdx.x * each + 1;
#pragma unroll 1
    for (int i = 0; i < each; i++) {
        int at = row * width + start + i;
        float here = in[at];
        float before = in[at - 1];
        float next = in[at + 1];
        float to_before = here - before, to_next = here - next;
        float w0 = exp2f(-sharpness * to_before * to_before);
        float w1 = exp2f(-sharpness * to_next * to_next);
        out[at] = (w0 * before + here + w1 * next) / (w0 + 1.0f + w1);
    }
}
