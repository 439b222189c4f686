// An array called offsetof, which is a keyword of pycparser's.
// example: {"way": {"form": "kernel", "options": {"proof": false, "seed": 10266}, "calls": [["inline", ["offsetof__"], {}], ["vectorize", ["false.u8", 0], {}], ["vectorize", ["exit.MAX0", 0], {}], ["separate_full_tiles", ["exit.MAX0"], {}], ["parallelize", ["false.hypot"], {}], ["parallelize", ["exit.MMx"], {}]]}, "build": [], "seed": 10266, "program": {"name": "p10266", "parameters": [{"name": "bcopy", "key": "i32", "kind": "size", "extents": [], "into": null, "aliases": false, "spelling": ""}, {"name": "MINx", "key": "i64", "kind": "size", "extents": [], "into": null, "aliases": false, "spelling": ""}, {"name": "MIN_1", "key": "i16", "kind": "scalar", "extents": [], "into": null, "aliases": false, "spelling": ""}, {"name": "MM", "key": "bool", "kind": "array", "extents": [["bcopy", 1, 1], ["MINx", 3, 1]], "into": null, "aliases": true, "spelling": "_Bool"}, {"name": "false", "key": "i32", "kind": "array", "extents": [["M", 2, 1], ["bcopy", 1, 1], ["MINx", 0, 1]], "into": null, "aliases": true, "spelling": "signed"}, {"name": "offsetof", "key": "f32", "kind": "array", "extents": [["M", 0, 1], ["MINx", 3, 1]], "into": null, "aliases": true, "spelling": "float"}], "file_names": ["INT64_MAX", "M"], "headers": false, "wild": false, "fixed": {"M": 12}, "depth": 3}}

#define MIN(a, b) ((a) < (b) ? (a) : (b))
#define MAX(a, b) ((a) > (b) ? (a) : (b))
static int INT64_MAX(short INT64_MAXx)
{
    if (INT64_MAXx == INT64_MAXx || INT64_MAXx != 0.5)
        return -0.0 + INT64_MAXx > -1073741824 && -0.0 + INT64_MAXx < 1073741824 ? (int)(-0.0 + INT64_MAXx) : 1;
    return -255 - (1e-40f != INT64_MAXx ? INT64_MAXx : INT64_MAXx);
}
enum { M = 12 };
void p10266(signed bcopy, long MINx, short int MIN_1, const _Bool MM[bcopy + 1][MINx + 3], signed false[M + 2][bcopy + 1][MINx], float offsetof[M][MINx + 3])
{
    unsigned short exit[M][MINx + 3];
#pragma scop
    for (unsigned hypot = 0; hypot + 1 < M; hypot += 3) {
        offsetof[hypot][0] = (hypot > 9 ? MM[0][2] : -7) + (hypot == MINx || hypot < bcopy - 1 ? MM[0][1] : MM[0][2]);
        for (short int x = bcopy - 2; x >= 2; x = x - 5) {
            for (signed u8 = 2; MINx - 1 > u8; u8 += 5) {
                double offsetof__ = -hypot / 8;
                false[hypot][x][u8] = MM[x + 2][u8 + 2];
                false[hypot][x + 1][u8 - 1] = (MM[x + 1 > bcopy ? bcopy : x + 1][u8 + 3] > 0 ? (offsetof[hypot + 1][u8 - 1] > -1000 && offsetof[hypot + 1][u8 - 1] < 1000 ? (short)offsetof[hypot + 1][u8 - 1] : -1) / MM[x + 1 > bcopy ? bcopy : x + 1][u8 + 3] : offsetof__) - (MIN_1 - -9223372036854775807 % 63) > -100 && (MM[x + 1 > bcopy ? bcopy : x + 1][u8 + 3] > 0 ? (offsetof[hypot + 1][u8 - 1] > -1000 && offsetof[hypot + 1][u8 - 1] < 1000 ? (short)offsetof[hypot + 1][u8 - 1] : -1) / MM[x + 1 > bcopy ? bcopy : x + 1][u8 + 3] : offsetof__) - (MIN_1 - -9223372036854775807 % 63) < 100 ? (signed)((MM[x + 1 > bcopy ? bcopy : x + 1][u8 + 3] > 0 ? (offsetof[hypot + 1][u8 - 1] > -1000 && offsetof[hypot + 1][u8 - 1] < 1000 ? (short)offsetof[hypot + 1][u8 - 1] : -1) / MM[x + 1 > bcopy ? bcopy : x + 1][u8 + 3] : offsetof__) - (MIN_1 - -9223372036854775807 % 63)) : 7;
            }
        }
    }
    for (signed char MMx = 0; MMx <= M - 1; MMx++)
        for (unsigned long long MAX0 = 0; MAX0 < MINx + 3; ++MAX0) {
            exit[MMx][MAX0] = (MMx + MAX0 <= MMx && (MAX0) % 4 == 0 ? offsetof[0][MAX0] : !(MMx < 3) ? offsetof[MMx - 3][MAX0] : 0) * (MAX0 == 4 && MMx < M ? M : MM[0][MAX0]) * (MAX0 == MINx / 2 ? MAX0 : false[MMx + 1][0][0]) > -1 && (MMx + MAX0 <= MMx && (MAX0) % 4 == 0 ? offsetof[0][MAX0] : !(MMx < 3) ? offsetof[MMx - 3][MAX0] : 0) * (MAX0 == 4 && MMx < M ? M : MM[0][MAX0]) * (MAX0 == MINx / 2 ? MAX0 : false[MMx + 1][0][0]) < 65535 ? (unsigned short)((MMx + MAX0 <= MMx && (MAX0) % 4 == 0 ? offsetof[0][MAX0] : !(MMx < 3) ? offsetof[MMx - 3][MAX0] : 0) * (MAX0 == 4 && MMx < M ? M : MM[0][MAX0]) * (MAX0 == MINx / 2 ? MAX0 : false[MMx + 1][0][0])) : 0;
        }
#pragma endscop
}
