// y = a*x + y, one element a thread; threads past the end do nothing.
//
// Made with nvcc 13.5 by regenerate.sh:
//   nvcc -ptx -arch=sm_80 -O3 saxpy.cu -o saxpy.O3.ptx
//   nvcc -ptx -arch=sm_80 -Xcicc -O0 saxpy.cu -o saxpy.O0.ptx

extern "C" __global__ void saxpy(int n, float a, const float *x, float *y)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        y[i] = a * x[i] + y[i];
}
