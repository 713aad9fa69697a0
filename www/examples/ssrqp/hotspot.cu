// Heat that spreads along a rod, cell by cell for each thread; now and then, for all threads alike, a step takes the
// power and the ambient loss of the cell into account. Moving those loads in front of their branch, which does not
// diverge, makes every step pay.
//
//   nvcc -ptx -arch=sm_80 -O3 hotspot.cu -o hotspot.O3.ptx

extern "C" __global__ void hotspot(int steps, int every, int cells, const float *__restrict__ heat,
                                   const float *__restrict__ power, const float *__restrict__ loss,
                                   float *__restrict__ out)
{
    int cell = blockIdx.x * blockDim.x + threadIdx.x;
    float sum = 0.0f;
#pragma unroll 1
    for (int step = 0; step < steps; step++) {
        int at = step * cells + cell;
        sum = 0.5f * sum + heat[at];
        if (step % every == every - 1)
            sum += power[at] - sum * loss[at];
    }
    out[cell] = sum;
}
