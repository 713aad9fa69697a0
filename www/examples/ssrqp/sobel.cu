// Sobel's filter where each thread goes along a piece of a row, pixel by pixel: of the eight pixels around the next one,
// four are loaded for the present one already.
//
//   nvcc -ptx -arch=sm_80 -O3 sobel.cu -o sobel.O3.ptx

extern "C" __global__ void sobel(int width, int each, const float *__restrict__ in, float *__restrict__ out)
{
    int row = blockIdx.x * blockDim.y + threadIdx.y + 1;
    int start = threadIdx.x * each + 1;
#pragma unroll 1
    for (int i = 0; i < each; i++) {
        int at = row * width + start + i;
        float across = in[at - width + 1] + 2.0f * in[at + 1] + in[at + width + 1] - in[at - width - 1]
                       - 2.0f * in[at - 1] - in[at + width - 1];
        float down = in[at + width - 1] + 2.0f * in[at + width] + in[at + width + 1] - in[at - width - 1]
                     - 2.0f * in[at - width] - in[at - width + 1];
        out[at] = fabsf(across) + fabsf(down);
    }
}
