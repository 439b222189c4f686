// wrong: did not end; and the proof accepts it
// example: {"way": {"form": "kernel", "options": {"proof": false, "seed": 7770, "plan": "moves", "auto": {}}, "calls": [["shift", ["B"], {"sqrt_tile": 1}], ["skew", ["B.status"], {"by": "B.sqrt_tile", "factor": 1}], ["fuse_loops", ["B.sqrt_tile", "o0.sqrtf_1"], {"depth": 2, "shift": 1}], ["diamond", ["o0.sqrtf_1", "o0.pipe", 6], {}], ["skew", ["o0.sqrtf_1"], {"by": "o0.sqrtf_1_tile", "factor": 2}]]}, "build": ["-O3", "-march=native", "-fopenmp", "-fwrapv", "-ftrivial-auto-var-init=pattern"], "seed": 7770, "program": {"name": "p7770", "parameters": [{"name": "pow", "key": "u32", "kind": "size", "extents": [], "into": null, "aliases": false, "spelling": ""}, {"name": "threads", "key": "u16", "kind": "size", "extents": [], "into": null, "aliases": false, "spelling": ""}, {"name": "f", "key": "i32", "kind": "scalar", "extents": [], "into": null, "aliases": false, "spelling": ""}, {"name": "pow_0", "key": "i32", "kind": "array", "extents": [["M", 2, 1]], "into": null, "aliases": true, "spelling": "int"}, {"name": "lane", "key": "i32", "kind": "array", "extents": [["threads", 0, 1], ["M", 3, 1]], "into": null, "aliases": true, "spelling": "int"}, {"name": "o0", "key": "i32", "kind": "array", "extents": [["M", 1, 1], ["pow", 2, 1]], "into": null, "aliases": false, "spelling": "signed"}], "file_names": ["class", "y_tile"], "headers": true, "wild": false, "fixed": {"M": 1}, "depth": 2}}

#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <stdbool.h>
#define min(a, b) ((a) < (b) ? (a) : (b))
#define max(a, b) ((a) > (b) ? (a) : (b))
static uint32_t class(int floorfx)
{
    return (floorfx > floorfx || floorfx > floorfx ? floorfx : -9u) + floorfx % 255 * (floorfx > 9 || floorfx < -9 ? 9 : floorfx);
}
static float y_tile(int32_t M, signed inside)
{
    if (inside <= M)
        return inside < 8 ? inside : 8;
    return min(11, inside);
}
#define M (1)
void p7770(unsigned pow, unsigned short threads, signed f, int pow_0[M + 2], int lane[threads][M + 3], signed o0[restrict M + 1][pow + 2])
{
    size_t B[threads][M + 3];
    unsigned long sqrtf_1;
#pragma scop
    for (long sqrt_tile = 0; threads > sqrt_tile; ++sqrt_tile)
        for (unsigned short status = 0; status < M + 3; ++status)
            B[sqrt_tile][status] = (char)lane[threads - 1 - sqrt_tile][status];
    for (unsigned long long is = threads; is-- > 1;)
        for (unsigned window = 1; window + 2 < M; window += 7) {
            float f__ = -0x80 / 3;
            lane[is][M - 1 - window - 1] = (0.1f > -100 && 0.1f < 100 ? (long int)0.1f : 1) % (-2);
        }
    for (sqrtf_1 = 0; M > sqrtf_1; sqrtf_1 += 2)
        for (signed pipe = 0; pow > pipe; pipe++) {
            if (pipe <= threads)
                continue;
            o0[sqrtf_1 + 1][pipe] = sqrtf_1 > pipe ? sqrtf_1 : pipe;
        }
#pragma endscop
}
