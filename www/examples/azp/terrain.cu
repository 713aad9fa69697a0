// A terrain of four materials: each has a mask that says how much of it there is, a colour texture and a height that
// sharpens the transition.
//
// Zero: each mask, where there is nothing of its material. A place has one material or two of four, so a mask is zero at
// five or six places of eight; masks are painted at a quarter of the screen's resolution.
//
//   nvcc -ptx -arch=sm_80 -O3 terrain.cu -o terrain.O3.ptx

extern "C" __global__ void terrain(int width, const float *__restrict__ grass, const float *__restrict__ rock,
                                   const float *__restrict__ sand, const float *__restrict__ snow,
                                   cudaTextureObject_t grass_colour, cudaTextureObject_t rock_colour,
                                   cudaTextureObject_t sand_colour, cudaTextureObject_t snow_colour, float4 *out)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    int texel = (y / 4) * (width / 4) + x / 4;
    float4 a = tex2D<float4>(grass_colour, x, y);
    float4 b = tex2D<float4>(rock_colour, 2.0f * x, 2.0f * y);
    float4 c = tex2D<float4>(sand_colour, x + y, y);
    float4 d = tex2D<float4>(snow_colour, x, x + y);
    float much_a = grass[texel] * (a.w + 0.2f);
    float much_b = rock[texel] * (b.w * b.w + 0.3f);
    float much_c = sand[texel] * exp2f(c.w - 1.0f);
    float much_d = snow[texel] * (sqrtf(d.w) + 0.1f);
    float scale = __frcp_rn(much_a + much_b + much_c + much_d + 0.01f);
    out[y * width + x] = make_float4((much_a * a.x + much_b * b.x + much_c * c.x + much_d * d.x) * scale,
                                     (much_a * a.y + much_b * b.y + much_c * c.y + much_d * d.y) * scale,
                                     (much_a * a.z + much_b * b.z + much_c * c.z + much_d * d.z) * scale, 1.0f);
}
