// A five-point stencil on a plane. Each block copies its tile and a rim of one cell into shared memory, waits,
// and averages from there; cells outside the plane count as the cell at its edge.
//
// Made with nvcc 13.5 by regenerate.sh:
//   nvcc -ptx -arch=sm_80 -O3 stencil.cu -o stencil.O3.ptx
//   nvcc -ptx -arch=sm_80 -Xcicc -O0 stencil.cu -o stencil.O0.ptx

#define TILE_X 16
#define TILE_Y 8

__device__ static float cell(const float *in, int width, int height, int x, int y)
{
    x = min(max(x, 0), width - 1);
    y = min(max(y, 0), height - 1);
    return in[y * width + x];
}

extern "C" __global__ void stencil(int width, int height, float weight, const float *in, float *out)
{
    __shared__ float tile[TILE_Y + 2][TILE_X + 2];
    int x = blockIdx.x * TILE_X + threadIdx.x;
    int y = blockIdx.y * TILE_Y + threadIdx.y;
    int tx = threadIdx.x + 1;
    int ty = threadIdx.y + 1;

    tile[ty][tx] = cell(in, width, height, x, y);
    if (threadIdx.x == 0)
        tile[ty][0] = cell(in, width, height, x - 1, y);
    if (threadIdx.x == TILE_X - 1)
        tile[ty][TILE_X + 1] = cell(in, width, height, x + 1, y);
    if (threadIdx.y == 0)
        tile[0][tx] = cell(in, width, height, x, y - 1);
    if (threadIdx.y == TILE_Y - 1)
        tile[TILE_Y + 1][tx] = cell(in, width, height, x, y + 1);
    __syncthreads();

    if (x < width && y < height) {
        float around = tile[ty][tx - 1] + tile[ty][tx + 1] + tile[ty - 1][tx] + tile[ty + 1][tx];
        out[y * width + x] = tile[ty][tx] + weight * (around - 4.0f * tile[ty][tx]);
    }
}
