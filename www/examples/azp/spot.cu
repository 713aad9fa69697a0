// A spot light with a cookie: what lies inside its cone is lit, weakened by the distance, coloured by a projected
// texture, and has a highlight.
//
// Zero: how far inside the cone, outside. The light's volume is drawn as a box around the cone, of which it fills a third
// on the floor that it stands over; what is inside and outside is one edge.
//
//   nvcc -ptx -arch=sm_80 -O3 spot.cu -o spot.O3.ptx

extern "C" __global__ void spot(int width, float outer, float scale, cudaTextureObject_t cookie,
                                cudaTextureObject_t surface, const float4 *__restrict__ normals, float4 *out)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    float dx = 20.0f - x, dy = 44.0f - y, dz = 30.0f;
    float square = dx * dx + dy * dy + dz * dz;
    float length = rsqrtf(square);
    float along = (0.2f * dx + 0.1f * dy + 0.97f * dz) * length;
    float inside = __saturatef((along - outer) * scale);
    float4 pattern = tex2D<float4>(cookie, 32.0f + 1.5f * dx, 32.0f + 1.5f * dy);
    float4 base = tex2D<float4>(surface, x, y);
    float4 n = normals[y * width + x];
    float cosine = __saturatef((n.x * dx + n.y * dy + n.z * dz) * length);
    float highlight = exp2f(20.0f * base.w * __log2f(cosine + 0.001f));
    float strength = inside * inside * 900.0f * length * length * (cosine + highlight);
    out[y * width + x] = make_float4(strength * pattern.x * base.x, strength * pattern.y * base.y,
                                     strength * pattern.z * base.z, 1.0f);
}
