// How many steps each number takes to reach 1 under the Collatz map. Neighbouring numbers take very different
// times, so a warp lives as long as its slowest lane.
//
// Made with nvcc 13.5 by regenerate.sh:
//   nvcc -ptx -arch=sm_80 -O3 collatz.cu -o collatz.O3.ptx
//   nvcc -ptx -arch=sm_80 -Xcicc -O0 collatz.cu -o collatz.O0.ptx

extern "C" __global__ void collatz(unsigned n, unsigned first, unsigned *steps)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    unsigned long long value = first + i;
    unsigned count = 0;
    while (value > 1) {
        if (value & 1)
            value = 3 * value + 1;
        else
            value >>= 1;
        count++;
    }
    steps[i] = count;
}
