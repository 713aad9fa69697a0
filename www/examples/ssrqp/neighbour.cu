// The nearest neighbour of each query in a k-d tree of two dimensions, nodes in the order of a heap, with a stack for
// each thread. Which side comes first differs between threads; what both sides need, each of them loads.
//
//   nvcc -ptx -arch=sm_80 -O3 neighbour.cu -o neighbour.O3.ptx

#define DEPTH 16

extern "C" __global__ void nearest_neighbour(int queries, int nodes, const float *__restrict__ qx,
                                             const float *__restrict__ qy, const float *__restrict__ px,
                                             const float *__restrict__ py, float *__restrict__ distance,
                                             int *__restrict__ place)
{
    int query = blockIdx.x * blockDim.x + threadIdx.x;
    if (query >= queries)
        return;
    int stack[DEPTH];
    float bound[DEPTH];
    int top = 0;
    float best = 1e30f;
    int nearest = -1;
    stack[top] = 0;
    bound[top++] = 0.0f;
    while (top > 0) {
        int node = stack[--top];
        if (bound[top] >= best)
            continue;
        float away;
        if ((31 - __clz(node + 1)) % 2 == 0)
            away = qx[query] - px[node];
        else
            away = qy[query] - py[node];
        float dx = qx[query] - px[node], dy = qy[query] - py[node];
        float d = dx * dx + dy * dy;
        if (d < best) {
            best = d;
            nearest = node;
        }
        int near = 2 * node + (away < 0.0f ? 1 : 2), other = 4 * node + 3 - near;
        if (other < nodes) {
            stack[top] = other;
            bound[top++] = away * away;
        }
        if (near < nodes) {
            stack[top] = near;
            bound[top++] = 0.0f;
        }
    }
    distance[query] = best;
    place[query] = nearest;
}
