// isl cannot join some pairs of iterations that the check of the C compares.
// example: {"way": {"form": "kernel", "options": {"proof": true, "seed": 10244, "plan": "unfused", "auto": {}}, "calls": []}, "build": [], "seed": 10244, "program": {"name": "p10244", "parameters": [{"name": "trunc_tile", "key": "u64", "kind": "size", "extents": [], "into": null, "aliases": false, "spelling": ""}, {"name": "j", "key": "i32", "kind": "size", "extents": [], "into": null, "aliases": false, "spelling": ""}, {"name": "N", "key": "u32", "kind": "array", "extents": [["j", 1, 1]], "into": null, "aliases": true, "spelling": "uint32_t"}, {"name": "j0", "key": "bool", "kind": "array", "extents": [["j", 1, 1], ["j", 0, 1]], "into": null, "aliases": true, "spelling": "bool"}, {"name": "b", "key": "u16", "kind": "array", "extents": [["trunc_tile", 2, 1], ["trunc_tile", 2, 1], ["trunc_tile", 2, 1]], "into": null, "aliases": true, "spelling": "unsigned short"}, {"name": "i_tile", "key": "f64", "kind": "array", "extents": [["j", 1, 1], ["trunc_tile", 0, 1]], "into": null, "aliases": true, "spelling": "double"}, {"name": "col", "key": "f64", "kind": "array", "extents": [["trunc_tile", 3, 1]], "into": null, "aliases": true, "spelling": "double"}], "file_names": [], "headers": true, "wild": false, "fixed": {}, "depth": 5}}

#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <stdbool.h>
void p10244(const uint64_t trunc_tile, const int32_t j, uint32_t N[j + 1], bool j0[j + 1][j], unsigned short b[trunc_tile + 2][trunc_tile + 2][trunc_tile + 2], const double i_tile[j + 1][trunc_tile], double col[trunc_tile + 3])
{
    int32_t t0;
    unsigned char div;
    int b_local;
#pragma scop
    for (int32_t h = 0; h != trunc_tile; h++) {
        for (t0 = (int)trunc_tile - 2; t0 > 0; t0--)
            col[t0] = col[t0] + col[t0 + 3];
        for (long long d = 0; trunc_tile > d; d += 7)
            for (char sum = 0; sum < trunc_tile; sum += 1)
                for (short int z = 1; z <= trunc_tile - 1; z += 4)
                    b[d][sum][z] = (b[d][d][trunc_tile - 1 - sum] + b[sum][sum / 2][d + 1]) % 100 * b[d + 2][d][z / 2];
    }
    for (t0 = j - 2; t0 > -1; t0 -= 1)
        for (div = 0; div < j - 1; div += 3) {
            uint8_t y1 = (div - div <= t0 || t0 != trunc_tile ? b[1][1][0] : div) + (t0 <= 1 ? div : N[t0 + 2]) - (t0 - t0 >= j / 2 || t0 <= t0 ? t0 : col[1]) > -1 && (div - div <= t0 || t0 != trunc_tile ? b[1][1][0] : div) + (t0 <= 1 ? div : N[t0 + 2]) - (t0 - t0 >= j / 2 || t0 <= t0 ? t0 : col[1]) < 255 ? (unsigned char)((div - div <= t0 || t0 != trunc_tile ? b[1][1][0] : div) + (t0 <= 1 ? div : N[t0 + 2]) - (t0 - t0 >= j / 2 || t0 <= t0 ? t0 : col[1])) : 7;
            bool nx = 0;
            for (long t8 = 1; 6 > t8; t8 += 2)
                nx |= (i_tile[t0 + 1][0] > -1000 && i_tile[t0 + 1][0] < 1000 ? (int16_t)i_tile[t0 + 1][0] : -1) / 3;
            j0[t0 + 2][div] = nx;
        }
    for (int signal = 0; signal + 2 < trunc_tile; signal++) {
        for (unsigned int trunc_tile_tile = j; trunc_tile_tile-- > 1;)
            N[trunc_tile_tile] = N[trunc_tile_tile] - N[0];
        for (b_local = 1; b_local <= j - 1; b_local++)
            N[b_local] = N[b_local - 1] + j0[b_local - 1][b_local / 2] - b[0][0][0];
    }
#pragma endscop
}
