// A search in a B+ tree, one block for each wanted key and one thread for each slot of a node: level by level, the
// thread whose slot encloses the key names the next node. Nodes are partly filled, so the first condition diverges,
// and the wanted key, which stays the same, is loaded behind it. Children have higher numbers than their parents; where a
// tree is no tree, the highest one wins.
//
//   nvcc -ptx -arch=sm_80 -O3 btree.cu -o btree.O3.ptx

#define SLOTS 16

extern "C" __global__ void btree_find(int height, const int *__restrict__ wanted, const int *__restrict__ filled,
                                      const int *__restrict__ keys, const int *__restrict__ children,
                                      const int *__restrict__ records, int *__restrict__ found)
{
    __shared__ int node, next;
    int slot = threadIdx.x;
    int query = blockIdx.x;
    if (slot == 0)
        node = next = 0;
    __syncthreads();
#pragma unroll 1
    for (int level = 0; level < height; level++) {
        int first = node * SLOTS;
        if (slot < filled[node] && keys[first + slot] <= wanted[query]
            && (slot + 1 == filled[node] || keys[first + slot + 1] > wanted[query]))
            atomicMax(&next, children[first + slot]);
        __syncthreads();
        if (slot == 0)
            node = next;
        __syncthreads();
    }
    if (slot < filled[node] && keys[node * SLOTS + slot] == wanted[query])
        atomicMax(&found[query], records[node * SLOTS + slot]);
}
