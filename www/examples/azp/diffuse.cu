// Sunlight on a terrain: the normal comes from the height field's map, N.L is saturated, and what multiplies it is the
// albedo with its detail texture, and a highlight.
//
// Zero: N.L, where a slope faces away from the sun. The sun stands low, so half of the slopes do; the map has a quarter
// of the screen's resolution, so a slope is wider than the 8 by 4 pixels of a warp, but for one in ten, which is rough.
//
//   nvcc -ptx -arch=sm_80 -O3 diffuse.cu -o diffuse.O3.ptx

extern "C" __global__ void diffuse(int width, float3 sun, float shininess, cudaTextureObject_t normals,
                                   cudaTextureObject_t albedo, cudaTextureObject_t detail, float4 *out)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    float4 n = tex2D<float4>(normals, 0.25f * x, 0.25f * y);
    float length = rsqrtf(n.x * n.x + n.y * n.y + n.z * n.z + 1e-6f);
    float towards = __saturatef((n.x * sun.x + n.y * sun.y + n.z * sun.z) * length);
    float4 base = tex2D<float4>(albedo, x, y);
    float4 fine = tex2D<float4>(detail, 4.0f * x, 4.0f * y);
    float highlight = exp2f(shininess * __log2f(fine.w + 0.001f));
    float4 lit;
    lit.x = towards * (base.x * fine.x + highlight) + 0.03f;
    lit.y = towards * (base.y * fine.y + highlight) + 0.04f;
    lit.z = towards * (base.z * fine.z + highlight) + 0.06f;
    lit.w = base.w;
    out[y * width + x] = lit;
}
