// One step of a breadth-first search over a graph in compressed rows: the threads whose node lies on the
// frontier (level == depth) put every unseen neighbour on the next level. Few threads are on a frontier and
// rows differ in length, so both the branch and the loop diverge.
//
// Made with nvcc 13.5 by regenerate.sh:
//   nvcc -ptx -arch=sm_80 -O3 bfs.cu -o bfs.O3.ptx
//   nvcc -ptx -arch=sm_80 -Xcicc -O0 bfs.cu -o bfs.O0.ptx

extern "C" __global__ void bfs_step(int nodes, int depth, const int *row, const int *edges, int *level,
                                    int *changed)
{
    int node = blockIdx.x * blockDim.x + threadIdx.x;
    if (node >= nodes || level[node] != depth)
        return;
    for (int e = row[node]; e < row[node + 1]; e++) {
        int neighbour = edges[e];
        if (level[neighbour] < 0) {
            level[neighbour] = depth + 1;
            *changed = 1;
        }
    }
}
