// wrong: ended with status 11
// example: {"way": {"form": "file", "options": {"target": "neon", "tile": true, "parallel": true, "fuse": "smart", "threads": 2}, "calls": []}, "build": ["-O1"], "seed": 516, "program": {"name": "p516", "parameters": [{"name": "b", "key": "i32", "kind": "size", "extents": [], "into": null, "aliases": false}, {"name": "y", "key": "f32", "kind": "array", "extents": [["b", 0, 1], ["b", 0, 1], ["b", 1, 1]], "into": null, "aliases": true}, {"name": "l3", "key": "i64", "kind": "array", "extents": [["b", 0, 1]], "into": null, "aliases": false}], "file_names": [], "headers": true, "wild": true, "fixed": {}, "depth": 3}}

#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <stdbool.h>
#define MIN(a, b) ((a) < (b) ? (a) : (b))
#define max(a, b) ((a) > (b) ? (a) : (b))
void p516(signed b, float *y, ptrdiff_t l3[restrict b])
{
    float ny6[b][b][b + 1];
    float buf0;
#pragma scop
    for (unsigned char h = 0; b > h; h++)
        for (unsigned acc = 0; acc != b; acc++)
            for (short int buf = 0; b + 1 > buf; buf++)
                ny6[h][acc][buf] = ((acc) % 4 != 1 ? y[(acc * b + acc) * (b + 1) + acc] : y[(h * b + b - 1 - acc) * (b + 1) + buf]) * (h <= acc ? l3[acc] : h) - (!(acc <= h || acc != b - 1) ? h : h);
    buf0 = 0;
    for (char len = -1; len < b; len += 1) {
        buf0 += ny6[0][0][len + 1] - len - (l3[0] ^ 5);
    }
    l3[0] = buf0 > -1073741824 && buf0 < 1073741824 ? (int64_t)buf0 : 1;
#pragma endscop
}
