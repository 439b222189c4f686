// wrong: ended with status 11
// example: {"way": {"form": "file", "options": {"target": "avx2", "tile": true, "parallel": true, "fuse": "smart", "threads": 2}, "calls": []}, "build": ["-O1"], "seed": 632, "program": {"name": "p632", "parameters": [{"name": "B", "key": "i64", "kind": "size", "extents": [], "into": null, "aliases": false}, {"name": "u8", "key": "u64", "kind": "size", "extents": [], "into": null, "aliases": false}, {"name": "a", "key": "f64", "kind": "array", "extents": [["u8", 0, 1], ["B", 1, 1]], "into": null, "aliases": true}, {"name": "floor_0", "key": "u64", "kind": "array", "extents": [["u8", 1, 1], ["B", 0, 1]], "into": null, "aliases": true}, {"name": "kern", "key": "u64", "kind": "array", "extents": [["B", 0, 1], ["u8", 3, 1]], "into": null, "aliases": false}, {"name": "fabsfs", "key": "f64", "kind": "array", "extents": [["u8", 1, 1]], "into": null, "aliases": true}, {"name": "j8", "key": "i32", "kind": "array", "extents": [["u8", 1, 1], ["u8", 2, 1]], "into": null, "aliases": true}], "file_names": ["res6"], "headers": true, "wild": true, "fixed": {}, "depth": 3}}

#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <stdbool.h>
#define MIN(a, b) ((a) < (b) ? (a) : (b))
#define MAX(a, b) ((a) > (b) ? (a) : (b))
static double res6(float k, int step)
{
    bool trunc_0 = step;
    if (trunc_0 <= trunc_0)
        return k > trunc_0 ? k : trunc_0;
    return MIN(k, -2147483647 - 1);
}
void p632(int64_t B, uint64_t u8, const double (*a)[B + 1], size_t floor_0[u8 + 1][B], const uint64_t kern[restrict B][u8 + 3], double fabsfs[u8 + 1], int *j8)
{
    char n;
    int16_t j;
    size_t out;
    float M;
#pragma scop
    M = 2;
    for (j = 0; (int)u8 - 1 > j; j = j + 2)
        if ((j >= 2 ? j8[j * (u8 + 2) + j - 2] : 7) < M) M = j >= 2 ? j8[j * (u8 + 2) + j - 2] : 7;
    for (unsigned l = 0; l <= u8 - 1; l += 1)
        for (out = 0; out < u8 + 2; out += 1) {
            uint32_t schedule = 0;
            for (n = -2; n <= 0; n += 7)
                schedule += (l >= u8 ? l : j8[(l + 1) * (u8 + 2) + l]) - out * 16777217.0f > -100 && (l >= u8 ? l : j8[(l + 1) * (u8 + 2) + l]) - out * 16777217.0f < 100 ? (short)((l >= u8 ? l : j8[(l + 1) * (u8 + 2) + l]) - out * 16777217.0f) : 0;
            j8[l * (u8 + 2) + out] = schedule;
        }
#pragma endscop
    fabsfs[0] = M;
}
