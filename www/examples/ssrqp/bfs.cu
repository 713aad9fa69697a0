// A step of a breadth-first search: a node on the frontier reaches those of its neighbours that have not been visited; of
// several that reach the same one, the highest cost and tree win. The node's own cost and tree stay the same during the
// loop over its edges, and they are loaded behind a branch that diverges.
//
//   nvcc -ptx -arch=sm_80 -O3 bfs.cu -o bfs.O3.ptx

extern "C" __global__ void bfs_level(int nodes, const int *__restrict__ frontier, const int *__restrict__ first,
                                     const int *__restrict__ edges, const int *__restrict__ visited,
                                     const int *__restrict__ cost, const int *__restrict__ tree,
                                     int *__restrict__ next_cost, int *__restrict__ next_tree)
{
    int node = blockIdx.x * blockDim.x + threadIdx.x;
    if (node >= nodes || !frontier[node])
        return;
    int end = first[node + 1];
#pragma unroll 1
    for (int e = first[node]; e < end; e++) {
        int neighbour = edges[e];
        if (!visited[neighbour]) {
            atomicMax(&next_cost[neighbour], cost[node] + 1);
            atomicMax(&next_tree[neighbour], tree[node]);
        }
    }
}
