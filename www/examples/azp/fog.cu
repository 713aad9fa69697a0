// Fog over a plain: it begins at some distance and is lit by the sun, so that what a pixel adds to it needs the phase
// function, the height, and a noise texture that makes it drift.
//
// Zero: how much fog there is, in front of where it begins. The camera looks over a plain from two metres, so that
// distance is 128 / (row + 1) metres, in row 0 to 63 below the horizon; fog begins at six metres. That leaves the lower two
// thirds of the ground clear, and a row of pixels is all clear or not at all, but for the bumps of the ground.
//
//   nvcc -ptx -arch=sm_80 -O3 fog.cu -o fog.O3.ptx

extern "C" __global__ void fog(int width, float begin, float scale, cudaTextureObject_t ground,
                               cudaTextureObject_t noise, const float4 *__restrict__ scene, float4 *out)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    float bump = tex2D<float4>(ground, 0.25f * x, 0.25f * y).x;
    float distance = (128.0f + bump) * __frcp_rn(y + 1.0f);
    float amount = __saturatef((distance - begin) * scale);
    float4 drift = tex2D<float4>(noise, 0.5f * x + 3.0f, 0.5f * y);
    float cosine = (x - 32.0f) * rsqrtf((x - 32.0f) * (x - 32.0f) + distance * distance + 1.0f);
    float denominator = 1.25f - cosine;
    float phase = 0.75f * rsqrtf(denominator * denominator * denominator);
    float thinning = exp2f(-0.05f * distance * drift.w);
    float4 behind = scene[y * width + x];
    float4 mixed;
    mixed.x = behind.x + amount * ((0.6f + phase) * drift.x * thinning - behind.x);
    mixed.y = behind.y + amount * ((0.7f + phase) * drift.y * thinning - behind.y);
    mixed.z = behind.z + amount * ((0.8f + phase) * drift.z * thinning - behind.z);
    mixed.w = behind.w;
    out[y * width + x] = mixed;
}
