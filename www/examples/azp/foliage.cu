// Leaves: a pixel's coverage comes from the alpha of the leaf's texture, sharpened around the threshold of the alpha test,
// and multiplies the light that the leaf reflects and lets through.
//
// Zero: the coverage, between leaves. A card of leaves is more air than leaf, six parts of ten; near the camera, where
// leaves cost most, a texel of it covers four by four pixels, so that a warp sees air only or leaf only, but for edges.
//
//   nvcc -ptx -arch=sm_80 -O3 foliage.cu -o foliage.O3.ptx

extern "C" __global__ void foliage(int width, float sharpness, float threshold, cudaTextureObject_t leaves,
                                   cudaTextureObject_t veins, const float4 *__restrict__ normals, float4 *out)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    float4 leaf = tex2D<float4>(leaves, 0.25f * x, 0.25f * y);
    float coverage = __saturatef((leaf.w - threshold) * sharpness);
    float4 vein = tex2D<float4>(veins, 2.0f * x, 2.0f * y);
    float4 n = normals[y * width + x];
    float facing = 0.48f * n.x + 0.6f * n.y + 0.64f * n.z;
    float front = __saturatef(facing);
    float through = __saturatef(-facing) * vein.w;
    float sheen = exp2f(8.0f * __log2f(front + 0.001f));
    out[y * width + x] = make_float4(coverage * (vein.x * front + 0.9f * through + sheen),
                                     coverage * (vein.y * front + 1.1f * through + sheen),
                                     coverage * (vein.z * front + 0.3f * through + sheen), coverage);
}
