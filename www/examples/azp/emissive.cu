// Things that glow: the colour of the glow comes from a texture and flickers with two layers of noise, over a picture
// that is lit already.
//
// Zero: all three components of the glow together. Lamps and screens are a small part of a picture; the texture is black
// elsewhere, nine texels of ten, and of a quarter of the screen's resolution. That one component is zero is of no use: the
// noise is needed for the others.
//
//   nvcc -ptx -arch=sm_80 -O3 emissive.cu -o emissive.O3.ptx

extern "C" __global__ void emissive(int width, float time, cudaTextureObject_t glow, cudaTextureObject_t noise,
                                    const float4 *__restrict__ scene, float4 *out)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    float4 colour = tex2D<float4>(glow, 0.25f * x, 0.25f * y);
    float4 slow = tex2D<float4>(noise, x + time, y);
    float4 fast = tex2D<float4>(noise, y + 4.0f * time, x);
    float flicker = 0.6f + 0.3f * __sinf(time * 6.28f + slow.x) + 0.1f * __cosf(time * 40.0f * fast.y);
    float bloom = exp2f(2.0f * flicker * slow.y) - 1.0f;
    float4 lit = scene[y * width + x];
    out[y * width + x] = make_float4(lit.x + colour.x * bloom, lit.y + colour.y * bloom, lit.z + colour.z * bloom, lit.w);
}
