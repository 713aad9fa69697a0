// Ambient occlusion in screen space: eight neighbours of a pixel are asked whether they stand in front of it, and each
// that does takes light away, by its direction, its distance, and its own normal.
//
// Zero: how far a neighbour stands in front. On a flat surface, which most of a picture is, nobody does, and a neighbour
// is in front only next to an edge of depth: here three blocks of texels in ten stand out, the others lie on the ground.
//
//   nvcc -ptx -arch=sm_80 -O3 occlusion.cu -o occlusion.O3.ptx

extern "C" __global__ void occlusion(int width, float bias, cudaTextureObject_t depth, cudaTextureObject_t normals,
                                     const float4 *__restrict__ offsets, float *out)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    float here = tex2D<float4>(depth, 0.25f * x, 0.25f * y).x;
    float dark = 0.0f;
#pragma unroll 1
    for (int sample = 0; sample < 8; sample++) {
        float4 offset = offsets[sample];
        float u = x + offset.x, v = y + offset.y;
        float there = tex2D<float4>(depth, 0.25f * u, 0.25f * v).x;
        float front = __saturatef(there - here - bias);
        float4 n = tex2D<float4>(normals, u, v);
        float square = offset.x * offset.x + offset.y * offset.y + front * front + 0.01f;
        float length = rsqrtf(square);
        float cosine = __saturatef((n.x * offset.x + n.y * offset.y + n.z * front) * length);
        float weak = exp2f(-0.1f * square) * (1.0f - cosine);
        dark += front * weak * length;
    }
    out[y * width + x] = __saturatef(1.0f - dark);
}
