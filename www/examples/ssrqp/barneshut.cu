// The force on each body by a walk over a tree of cells: a cell that is far enough away counts as one mass, another is
// opened. Cells stand in depth-first order, each with the number of the one behind its subtree. What a far cell and a
// near leaf add needs the mass of the cell, and the body's softening, behind branches that diverge. The walk goes forward
// whatever the numbers say.
//
//   nvcc -ptx -arch=sm_80 -O3 barneshut.cu -o barneshut.O3.ptx

extern "C" __global__ void barnes_hut(int bodies, int cells, const float *__restrict__ x, const float *__restrict__ y,
                                      const float *__restrict__ softening, const float *__restrict__ cx,
                                      const float *__restrict__ cy, const float *__restrict__ mass,
                                      const float *__restrict__ size, const int *__restrict__ behind,
                                      float *__restrict__ fx, float *__restrict__ fy)
{
    int body = blockIdx.x * blockDim.x + threadIdx.x;
    if (body >= bodies)
        return;
    float ax = 0.0f, ay = 0.0f;
    int cell = 0;
    while (cell < cells) {
        float dx = cx[cell] - x[body], dy = cy[cell] - y[body];
        float d2 = dx * dx + dy * dy;
        if (d2 > size[cell] * size[cell]) {
            float w = mass[cell] * rsqrtf(d2 + softening[body]);
            ax += w * dx;
            ay += w * dy;
            cell = max(behind[cell], cell + 1);
        } else if (behind[cell] == cell + 1) {
            float w = mass[cell] / (1.0f + d2 + softening[body]);
            ax += w * dx;
            ay += w * dy;
            cell = cell + 1;
        } else {
            cell = cell + 1;
        }
    }
    fx[body] = ax;
    fy[body] = ay;
}
