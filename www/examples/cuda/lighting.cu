// Diffuse and specular light on a height field's texels: a normal and a colour come from textures, N.L is
// saturated to [0, 1], and faces turned away from the light skip the specular term.
//
// Made with nvcc 13.5 by regenerate.sh:
//   nvcc -ptx -arch=sm_80 -O3 lighting.cu -o lighting.O3.ptx
//   nvcc -ptx -arch=sm_80 -Xcicc -O0 lighting.cu -o lighting.O0.ptx

struct Light {
    float3 direction;
    float3 colour;
    float shininess;
};

extern "C" __global__ void lighting(int width, int height, Light light, cudaTextureObject_t normals,
                                    cudaTextureObject_t albedo, float4 *out)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= width || y >= height)
        return;
    float4 n = tex2D<float4>(normals, x, y);
    float4 base = tex2D<float4>(albedo, x, y);
    float length = rsqrtf(n.x * n.x + n.y * n.y + n.z * n.z + 1e-6f);
    float towards = (n.x * light.direction.x + n.y * light.direction.y + n.z * light.direction.z) * length;
    float diffuse = __saturatef(towards);
    float specular = 0.0f;
    if (diffuse > 0.0f)
        specular = exp2f(light.shininess * __log2f(diffuse));
    out[y * width + x] = make_float4(base.x * light.colour.x * diffuse + specular,
                                     base.y * light.colour.y * diffuse + specular,
                                     base.z * light.colour.z * diffuse + specular, base.w);
}
