// compiler: part1.c: In function ‘kp2122_v1’:
// example: {"way": {"form": "kernel", "options": {"proof": false, "seed": 2122, "plan": "auto", "auto": {}}, "calls": [["vectorize", ["kp2122_select.buffer", 0], {}], ["parallelize", ["free.v1"], {}]]}, "build": ["-O3", "-march=native", "-fopenmp", "-fwrapv", "-ftrivial-auto-var-init=pattern"], "seed": 2122, "program": {"name": "p2122", "parameters": [{"name": "aligned_alloc", "key": "u16", "kind": "size", "extents": [], "into": null, "aliases": false}, {"name": "bytes", "key": "u64", "kind": "size", "extents": [], "into": null, "aliases": false}, {"name": "winside", "key": "f64", "kind": "scalar", "extents": [], "into": null, "aliases": false}, {"name": "found", "key": "f32", "kind": "array", "extents": [["bytes", 1, 1]], "into": null, "aliases": true}, {"name": "free", "key": "i16", "kind": "array", "extents": [["", 7, 1], ["aligned_alloc", 1, 1]], "into": null, "aliases": false}, {"name": "alignment", "key": "f32", "kind": "array", "extents": [["bytes", 0, 2], ["bytes", 0, 1]], "into": null, "aliases": false}, {"name": "advice", "key": "i32", "kind": "array", "extents": [["aligned_alloc", 3, 1], ["bytes", 3, 1], ["bytes", 0, 1]], "into": null, "aliases": false}, {"name": "threads", "key": "i16", "kind": "array", "extents": [["bytes", 0, 1], ["bytes", 0, 2]], "into": null, "aliases": true}], "file_names": ["ceilceil"], "headers": true, "wild": false, "fixed": {}, "depth": 2}}

#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <stdbool.h>
static signed ceilceil(int16_t start)
{
    return start + start == start;
}
void p2122(uint16_t aligned_alloc, unsigned long bytes, double winside, float found[bytes + 1], short free[restrict 7][aligned_alloc + 1], const float alignment[restrict 2 * bytes][bytes], const int advice[restrict aligned_alloc + 3][bytes + 3][bytes], const short threads[bytes][2 * bytes])
{
    uint32_t fixed;
    uint64_t tmp;
    int16_t kp2122_select[bytes + 1];
#pragma scop
    fixed = 0;
    for (tmp = 0; bytes > tmp; tmp = tmp + 5)
        for (unsigned short madvise = 0; madvise <= bytes - 1; madvise = madvise + 3)
            fixed &= bytes * (((tmp + 3 < aligned_alloc + 3 ? advice[tmp + 3][tmp + 2][madvise] : 8) & 63) + 100);
    found[0] = fixed;
    for (signed char v1 = 0; v1 <= 6; v1++)
        for (int64_t memory = 1; memory + 1 < aligned_alloc; memory += 1) {
            unsigned long long kp2122 = (v1 - memory) % 4 == 0 ? memory : v1 % 97;
            free[v1][memory] = (memory < bytes - 1 ? -threads[0][1] : alignment[1][0] * (memory > 1 ? free[v1][memory - 2] : 1)) > -100 && (memory < bytes - 1 ? -threads[0][1] : alignment[1][0] * (memory > 1 ? free[v1][memory - 2] : 1)) < 100 ? (int16_t)(memory < bytes - 1 ? -threads[0][1] : alignment[1][0] * (memory > 1 ? free[v1][memory - 2] : 1)) : 7;
        }
    for (unsigned short buffer = 0; bytes + 1 > buffer; ++buffer)
        kp2122_select[buffer] = (free[0][0] | (winside > -1000 && winside < 1000 ? (int16_t)winside : -1)) % 7 * (advice[0][buffer + 1][0] % 2);
#pragma endscop
}
