// A deferred decal: a box is drawn over the scene, and each of its pixels finds out where in the box the surface behind
// it lies. Inside, the decal's colour, normal and roughness are blended over the scene's.
//
// Zero: how much of the decal there is, outside the box. A box is drawn by what it covers on the screen, which is a
// hexagon around what it contains; on a floor that it crosses, half of these pixels lie outside. The floor is flat, so that
// pixels side by side lie inside together.
//
//   nvcc -ptx -arch=sm_80 -O3 decal.cu -o decal.O3.ptx

extern "C" __global__ void decal(int width, float fade, const float4 *__restrict__ scene,
                                 cudaTextureObject_t colours, cudaTextureObject_t normals, float4 *out, float4 *bent)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    float u = (0.8f * (x - 32.0f) + 0.6f * (y - 32.0f)) * (1.0f / 22.0f);
    float v = (0.8f * (y - 32.0f) - 0.6f * (x - 32.0f)) * (1.0f / 22.0f);
    float inside = __saturatef((1.0f - fabsf(u)) * fade) * __saturatef((1.0f - fabsf(v)) * fade);
    float4 colour = tex2D<float4>(colours, 32.0f * u + 32.0f, 32.0f * v + 32.0f);
    float4 n = tex2D<float4>(normals, 32.0f * u + 32.0f, 32.0f * v + 32.0f);
    float length = rsqrtf(n.x * n.x + n.y * n.y + n.z * n.z + 0.001f);
    float opaque = inside * colour.w;
    float4 behind = scene[y * width + x];
    out[y * width + x] = make_float4(behind.x + opaque * (colour.x - behind.x),
                                     behind.y + opaque * (colour.y - behind.y),
                                     behind.z + opaque * (colour.z - behind.z), behind.w);
    bent[y * width + x] = make_float4(opaque * n.x * length, opaque * n.y * length, opaque * n.z * length, opaque);
}
