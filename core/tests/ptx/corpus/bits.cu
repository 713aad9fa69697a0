// Integers bit by bit: fields, counts, permutations, carries, high halves, narrow types.
// Made with nvcc 13.5 by www/examples/cuda/regenerate.sh core/tests/ptx/corpus

extern "C" __global__ void fields(unsigned *out, unsigned long long *wide)
{
    unsigned i = threadIdx.x;
    unsigned v = out[i];
    unsigned long long w = wide[i];
    unsigned r = __byte_perm(v, v >> 3, 0x2103);
    r += (v >> 5) & 0x3f;
    r = __funnelshift_l(r, v, 7);
    r += __popc(v) + __brev(r) + __clz(v) + __ffs(r);
    asm("bfe.u32 %0, %1, 4, 9;" : "=r"(v) : "r"(r));
    asm("bfi.b32 %0, %1, %2, 4, 9;" : "=r"(r) : "r"(v), "r"(r));
    asm("lop3.b32 %0, %1, %2, 77, 0xca;" : "=r"(r) : "r"(v), "r"(r));
    wide[i] = w + __popcll(w) + __clzll(w) + __brevll(w);
    out[i] = r;
}

extern "C" __global__ void arithmetic(unsigned *out, unsigned long long *wide, short *halves, signed char *bytes)
{
    unsigned i = threadIdx.x;
    unsigned v = out[i], r = v * 77;
    unsigned long long w = wide[i];
    unsigned lo, hi;
    asm("{ add.cc.u32 %0, %2, %3; addc.u32 %1, %2, 0; }" : "=r"(lo), "=r"(hi) : "r"(v), "r"(r));
    asm("{ sub.cc.u32 %0, %0, %2; subc.cc.u32 %1, %1, %2; subc.u32 %0, %0, 0; }" : "+r"(lo), "+r"(hi) : "r"(r));
    asm("{ mad.lo.cc.u32 %0, %2, %3, %0; madc.hi.u32 %1, %2, %3, %1; }" : "+r"(lo), "+r"(hi) : "r"(v), "r"(r));
    w = __umul64hi(w, w + lo) + (w ^ hi);
    wide[i] = w / 7 + w % (v | 1);
    out[i] = r + __mulhi((int)r, 3) + min((int)r, 7) + max(v, 8u) + abs((int)v) + v / (r | 1) + (int)v % 5;
    halves[i] = (short)(halves[i] * 3);
    bytes[i] = bytes[i] > 3 ? bytes[i] >> 1 : -bytes[i];
}
