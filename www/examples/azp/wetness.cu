// Normal maps blended: where the ground is wet, ripples are laid over its own normal, which is turned by them and made
// one unit long again; then it is lit.
//
// Zero: how wet the ground is, outside puddles. After rain that is two thirds of a street; puddles are painted at a
// quarter of the screen's resolution.
//
//   nvcc -ptx -arch=sm_80 -O3 wetness.cu -o wetness.O3.ptx

extern "C" __global__ void wetness(int width, float time, const float *__restrict__ wet,
                                   cudaTextureObject_t ground, cudaTextureObject_t ripples, float4 *out)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    float amount = wet[(y / 4) * (width / 4) + x / 4];
    float4 n = tex2D<float4>(ground, x, y);
    float4 first = tex2D<float4>(ripples, x + 8.0f * time, y);
    float4 second = tex2D<float4>(ripples, x, y + 6.0f * time);
    float swing = __sinf(first.w * 6.28f + time) * __cosf(second.w * 6.28f - time);
    float dx = (first.x + second.x - 1.0f) * swing;
    float dy = (first.y + second.y - 1.0f) * swing;
    float nx = n.x + amount * dx;
    float ny = n.y + amount * dy;
    float length = rsqrtf(nx * nx + ny * ny + n.z * n.z + 0.01f);
    float light = __saturatef((0.48f * nx + 0.6f * ny + 0.64f * n.z) * length);
    out[y * width + x] = make_float4(nx * length, ny * length, n.z * length, light);
}
