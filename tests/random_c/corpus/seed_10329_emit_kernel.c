// l & (2^63 - 1) was l % 2^63, a number that C has in no type with a sign.
// example: {"way": {"form": "kernel", "options": {"proof": false, "seed": 10329}, "calls": []}, "build": [], "seed": 10329, "program": {"name": "p10329", "parameters": [{"name": "tmp", "key": "i32", "kind": "size", "extents": [], "into": null, "aliases": false, "spelling": ""}, {"name": "l", "key": "i32", "kind": "size", "extents": [], "into": null, "aliases": false, "spelling": ""}, {"name": "A", "key": "f32", "kind": "array", "extents": [["tmp", 1, 1], ["l", 0, 1]], "into": null, "aliases": true, "spelling": "float"}, {"name": "M", "key": "f32", "kind": "array", "extents": [["", 16, 1], ["l", 3, 1]], "into": null, "aliases": true, "spelling": "float"}, {"name": "img", "key": "u8", "kind": "array", "extents": [["l", 1, 1], ["tmp", 0, 2]], "into": null, "aliases": true, "spelling": "uint8_t"}, {"name": "res", "key": "bool", "kind": "array", "extents": [["l", 0, 1], ["tmp", 3, 1]], "into": null, "aliases": true, "spelling": "_Bool"}, {"name": "h9", "key": "u8", "kind": "array", "extents": [["l", 3, 1], ["tmp", 0, 1], ["tmp", 3, 2]], "into": null, "aliases": false, "spelling": "uint8_t"}], "file_names": [], "headers": true, "wild": false, "fixed": {}, "depth": 2}}

#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <stdbool.h>
void p10329(signed tmp, int l, const float A[tmp + 1][l], float M[16][l + 3], uint8_t img[l + 1][2 * tmp], _Bool res[l][tmp + 3], uint8_t h9[restrict l + 3][tmp][2 * tmp + 3])
{
    unsigned long ny1;
#pragma scop
    for (size_t t = 14; t >= 1; t--) {
        for (uint64_t dst = 0; l + 3 > dst; dst = dst + 7) {
            float y = (signed)(dst <= dst || -0XA > tmp ? res[0][0] : res[0][2]);
            int32_t d = (18446744073709551615u == 16777217.0f || tmp > -6364136223846793005ULL ? A[0][0] > -1 && A[0][0] < 1073741824 ? (size_t)A[0][0] : 7 : t - 1 <= l / 2 ? y : y) > -1000 && (18446744073709551615u == 16777217.0f || tmp > -6364136223846793005ULL ? A[0][0] > -1 && A[0][0] < 1073741824 ? (size_t)A[0][0] : 7 : t - 1 <= l / 2 ? y : y) < 1000 ? (int32_t)(18446744073709551615u == 16777217.0f || tmp > -6364136223846793005ULL ? A[0][0] > -1 && A[0][0] < 1073741824 ? (size_t)A[0][0] : 7 : t - 1 <= l / 2 ? y : y) : 0;
            M[t - 1][dst] = t - 1 == tmp ? dst + 1 < l + 1 ? img[dst + 1][0] : 0 : tmp;
        }
    }
    for (ptrdiff_t row = 1; l - 1 > row; row = row + 7) {
        h9[row - 1][0][2] = A[0][row - 1] - l + (l & 9223372036854775807) > -1 && A[0][row - 1] - l + (l & 9223372036854775807) < 255 ? (unsigned char)(A[0][row - 1] - l + (l & 9223372036854775807)) : 0;
        for (ny1 = 0; ny1 + 1 < tmp; ++ny1) {
            if (h9[row + 3][ny1 + 1][2 * ny1 + 1] > ny1 || 6364136223846793005ULL == (!(row < 2) ? M[0][row - 2] : 0))
                img[row + 2][2 * ny1 + 2] ^= A[ny1][row + 1] > -1 && A[ny1][row + 1] < 65535 ? (uint16_t)A[ny1][row + 1] : 1;
        }
    }
#pragma endscop
}
