// A list of small lights over a floor: each adds its colour, weakened by distance until nothing is left at its radius.
//
// Zero: the attenuation, outside a light's radius. Twelve lights of a radius of sixteen pixels stand anywhere around a tile of
// 64 by 64: a light reaches a fifth of the tile (3.14 * 16 * 16 / 4096) if it stands inside. A list for a tile of the screen is
// made of the lights that touch it at all.
//
//   nvcc -ptx -arch=sm_80 -O3 lights.cu -o lights.O3.ptx

extern "C" __global__ void lights(int width, int count, const float4 *__restrict__ places,
                                  const float4 *__restrict__ colours, const float4 *__restrict__ normals, float4 *out)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    float4 n = normals[y * width + x];
    float red = 0.0f, green = 0.0f, blue = 0.0f;
#pragma unroll 1
    for (int light = 0; light < count; light++) {
        float4 place = places[light];
        float dx = place.x - x, dy = place.y - y, dz = 4.0f;
        float square = dx * dx + dy * dy + dz * dz;
        float near = __saturatef(1.0f - square * (1.0f / 256.0f));
        float4 colour = colours[light];
        float length = rsqrtf(square);
        float cosine = __saturatef((n.x * dx + n.y * dy + n.z * dz) * length);
        float highlight = exp2f(colour.w * __log2f(cosine + 0.001f));
        float strength = near * near * (cosine + highlight) * length;
        red += strength * colour.x;
        green += strength * colour.y;
        blue += strength * colour.z;
    }
    out[y * width + x] = make_float4(red, green, blue, 1.0f);
}
