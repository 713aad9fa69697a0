// Light through ears and noses: a mask says how thin the body is there, and three layers of tissue let three colours
// through; the rest is ordinary light.
//
// Zero: the mask, where nothing is thin, seven tenths of a figure. It is painted at a quarter of the resolution.
//
//   nvcc -ptx -arch=sm_80 -O3 skin.cu -o skin.O3.ptx

extern "C" __global__ void skin(int width, cudaTextureObject_t thinness, cudaTextureObject_t tissue,
                                cudaTextureObject_t albedo, const float4 *__restrict__ normals, float4 *out)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    float thin = tex2D<float4>(thinness, 0.25f * x, 0.25f * y).x;
    float4 layer = tex2D<float4>(tissue, x, y);
    float4 base = tex2D<float4>(albedo, x, y);
    float4 n = normals[y * width + x];
    float cosine = 0.48f * n.x + 0.6f * n.y + 0.64f * n.z;
    float back = __saturatef(0.3f - cosine);
    float thick = layer.w * layer.w * -4.0f;
    float red = 0.233f * exp2f(thick * 0.0064f) + 0.118f * exp2f(thick * 0.187f) + 0.358f * exp2f(thick * 1.99f);
    float green = 0.455f * exp2f(thick * 0.0064f) + 0.198f * exp2f(thick * 0.187f);
    float blue = 0.649f * exp2f(thick * 0.0064f);
    float through = thin * back;
    float front = __saturatef(cosine);
    out[y * width + x] = make_float4(base.x * front + through * red * layer.x, base.y * front + through * green * layer.y,
                                     base.z * front + through * blue * layer.z, base.w);
}
