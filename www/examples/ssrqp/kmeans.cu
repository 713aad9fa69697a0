// The nearest of some centres for each point, coordinate by coordinate: a centre that is too far away already is given
// up, at different coordinates for different points. The coordinates of the point stay the same, but all except the
// first are loaded behind branches that diverge. The launch has a thread for each point, so no branch asks for it.
//
//   nvcc -ptx -arch=sm_80 -O3 kmeans.cu -o kmeans.O3.ptx

extern "C" __global__ void kmeans_assign(int centres, const float *__restrict__ x,
                                         const float *__restrict__ y, const float *__restrict__ z,
                                         const float *__restrict__ cx, const float *__restrict__ cy,
                                         const float *__restrict__ cz, int *__restrict__ nearest)
{
    int point = blockIdx.x * blockDim.x + threadIdx.x;
    float best = 1e30f;
    int chosen = 0;
#pragma unroll 1
    for (int c = 0; c < centres; c++) {
        float dx = x[point] - cx[c];
        float far = dx * dx;
        if (far < best) {
            float dy = y[point] - cy[c];
            far += dy * dy;
            if (far < best) {
                float dz = z[point] - cz[c];
                far += dz * dz;
                if (far < best) {
                    best = far;
                    chosen = c;
                }
            }
        }
    }
    nearest[point] = chosen;
}
