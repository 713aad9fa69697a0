// Light behind a shadow mask: a pass before this one has compared each pixel's depth with the shadow map's and left how
// much light gets through, at a quarter of the screen's resolution; it multiplies a microfacet reflection.
//
// Zero: the mask, in full shadow. In a street or a forest half of the pixels are; a shadow is wider than the 8 by 4 pixels
// of a warp, but for one in ten, where it has its edge.
//
//   nvcc -ptx -arch=sm_80 -O3 shadow.cu -o shadow.O3.ptx

extern "C" __global__ void shadow(int width, cudaTextureObject_t mask, cudaTextureObject_t surface,
                                  const float4 *__restrict__ normals, float4 *out)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    float lit = tex2D<float4>(mask, 0.25f * x, 0.25f * y).x;
    float4 n = normals[y * width + x];
    float4 base = tex2D<float4>(surface, x, y);
    float rough = base.w * base.w + 0.01f;
    float cosine = __saturatef(0.48f * n.x + 0.6f * n.y + 0.64f * n.z);
    float halfway = __saturatef(0.28f * n.x + 0.35f * n.y + 0.89f * n.z);
    float spread = halfway * halfway * (rough - 1.0f) + 1.0f;
    float facets = rough * __frcp_rn(3.1416f * spread * spread);
    float grazing = 1.0f - halfway;
    float fresnel = 0.04f + 0.96f * exp2f(5.0f * __log2f(grazing + 0.0001f));
    float light = lit * cosine;
    out[y * width + x] = make_float4(light * (base.x + facets * fresnel), light * (base.y + facets * fresnel),
                                     light * (base.z + facets * fresnel), 1.0f);
}
