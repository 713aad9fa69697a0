// A soft particle: smoke on a square, round, with a texture that turns, lit through, and fading where it touches the scene.
//
// Zero: the fade, where the scene stands in front of the particle, and the roundness, in the corners of the square, which
// are a fifth of it (1 - 3.14 / 4). Smoke rises behind things, here half of it; the scene's depth is read at a quarter of
// the resolution, as engines do for particles.
//
//   nvcc -ptx -arch=sm_80 -O3 particle.cu -o particle.O3.ptx

extern "C" __global__ void particle(int width, float depth, float softness, cudaTextureObject_t scene,
                                    cudaTextureObject_t smoke, cudaTextureObject_t flow, float4 *out)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    float behind = tex2D<float4>(scene, 0.25f * x, 0.25f * y).x;
    float fade = __saturatef((behind - depth) * softness);
    float dx = (x - 31.5f) * (1.0f / 32.0f), dy = (y - 31.5f) * (1.0f / 32.0f);
    float round = __saturatef(1.0f - dx * dx - dy * dy);
    float4 moved = tex2D<float4>(flow, x, y);
    float4 puff = tex2D<float4>(smoke, x + 8.0f * moved.x, y + 8.0f * moved.y);
    float glow = exp2f(-3.0f * puff.w) * (0.5f + 0.5f * __sinf(6.28f * moved.z));
    float alpha = fade * round * puff.w;
    out[y * width + x] = make_float4(alpha * (puff.x + 1.0f * glow), alpha * (puff.y + 0.6f * glow),
                                     alpha * (puff.z + 0.2f * glow), alpha);
}
