// Forces between the particles of neighbouring boxes: one block for each box, one thread for each of its particles,
// all particles of the neighbours one after the other. Two ranges of interaction have two conditions, and both need
// the other's charge.
//
//   nvcc -ptx -arch=sm_80 -O3 lavamd.cu -o lavamd.O3.ptx

#define AROUND 3
#define PARTICLES 32

extern "C" __global__ void lavamd(float near, float far, const int *__restrict__ neighbours,
                                  const float *__restrict__ x, const float *__restrict__ y,
                                  const float *__restrict__ charge, float *__restrict__ energy,
                                  float *__restrict__ force)
{
    int particle = blockIdx.x * blockDim.x + threadIdx.x;
    float mine_x = x[particle], mine_y = y[particle];
    float sum = 0.0f, pull = 0.0f;
#pragma unroll 1
    for (int k = 0; k < AROUND; k++) {
        int box = neighbours[blockIdx.x * AROUND + k];
#pragma unroll 1
        for (int j = 0; j < PARTICLES; j++) {
            int other = box * PARTICLES + j;
            float dx = mine_x - x[other], dy = mine_y - y[other];
            float d2 = dx * dx + dy * dy;
            if (d2 < near)
                sum += charge[other] * exp2f(-d2);
            pull *= 0.999f;
            if (d2 > far)
                pull += charge[other] * (d2 - far);
        }
    }
    energy[particle] = sum;
    force[particle] = pull;
}
