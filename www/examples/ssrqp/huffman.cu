// The bits that each thread's symbols take in a code with escapes: the length of a symbol is asked for twice in a round,
// once to add it up, if it has a code, and once to see whether it is long.
//
//   nvcc -ptx -arch=sm_80 -O3 huffman.cu -o huffman.O3.ptx

extern "C" __global__ void huffman_lengths(int each, const int *__restrict__ symbols, const int *__restrict__ length,
                                           const int *__restrict__ escape, int *bits, int *longest)
{
    int thread = blockIdx.x * blockDim.x + threadIdx.x;
#pragma unroll 1
    for (int i = 0; i < each; i++) {
        int symbol = symbols[thread * each + i];
        if (escape[symbol])
            bits[thread] += 8 + length[symbol];
        else
            bits[thread] += 1;
        if (length[symbol] > longest[thread])
            longest[thread] = length[symbol];
    }
}
