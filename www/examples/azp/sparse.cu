// A sparse matrix times a vector, rows padded to one length and stored column by column (ELLPACK): a thread has a row.
//
// Zero: an entry that is padding. Rows are sorted by their length, as one does for this format, so that the rows of a warp
// are padded alike; an average row is half as long as the longest, which is what makes the format worth its memory.
//
//   nvcc -ptx -arch=sm_80 -O3 sparse.cu -o sparse.O3.ptx

extern "C" __global__ void sparse(int rows, int longest, const float *__restrict__ entries,
                                  const int *__restrict__ columns, const float *__restrict__ vector, float *out)
{
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    float sum = 0.0f;
#pragma unroll 1
    for (int place = 0; place < longest; place++) {
        int at = place * rows + row;
        sum += entries[at] * vector[columns[at]];
    }
    out[row] = sum;
}
