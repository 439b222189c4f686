// Rewritten in place: a helper macro's local was called as an iterator in its operand.
// example: {"way": {"form": "file", "options": {"target": "generic", "tile": true, "parallel": false, "fuse": "min", "threads": 2}, "calls": []}, "build": ["-O2", "-fopenmp"], "seed": 9897, "program": {"name": "p9897", "parameters": [{"name": "a", "key": "u16", "kind": "size", "extents": [], "into": null, "aliases": false, "spelling": ""}, {"name": "idx", "key": "u8", "kind": "size", "extents": [], "into": null, "aliases": false, "spelling": ""}, {"name": "t", "key": "bool", "kind": "array", "extents": [["", 3, 1]], "into": null, "aliases": true, "spelling": "_Bool"}, {"name": "dst", "key": "i32", "kind": "array", "extents": [["a", 3, 1], ["a", 0, 2], ["idx", 3, 1]], "into": null, "aliases": false, "spelling": "int"}, {"name": "z", "key": "i32", "kind": "scalar", "extents": [], "into": null, "aliases": false, "spelling": ""}], "file_names": ["b3", "l"], "headers": false, "wild": true, "fixed": {}, "depth": 4}}

static double b3(unsigned char N)
{
    if (N > N)
        return N + -1;
    return (int)(N * N);
}
static float l(long long b__, signed min_i32)
{
    if (4294967296 >= -1099511627776L)
        return (min_i32 & 100) - (min_i32 & 255);
    return (!(min_i32 < min_i32 || 6 == min_i32) ? b__ : b__) % 3 * (min_i32 != min_i32 || 6ll != b__ ? min_i32 : min_i32) + (b__ >= b__ ? min_i32 : 11) || 3LLU - min_i32;
}
void p9897(unsigned short a, unsigned char idx, const _Bool *t, int dst[restrict a + 3][2 * a][idx + 3], int z)
{
#pragma scop
    int k_;
    unsigned int out2;
    unsigned char N;
    unsigned char a__;
    out2 = 0;
    for (char min_i32 = 2; min_i32 + 1 < a; min_i32 += 2)
        for (int b = (int)a - 2; b > -1; --b)
            for (a__ = 1; idx - 1 > a__; ++a__) {
                out2 += ((long int)dst[b + 3][2 * b + 1][a__ + 3] - t[b % 3] ^ t[min_i32 % 3]) % 3;
            }
    dst[0][1][0] = out2;
    for (unsigned long long M52 = 0; M52 + 1 < a; M52 += 5) {
        for (a__ = a; a__ >= 1; a__--) {
            for (k_ = (int)idx - 2; k_ > 0; --k_) {
                dst[M52][2 * (a__ - 1) + 1][k_] = 1;
                for (N = 0; N <= 0; N += 1) {
                    dst[M52][2 * (a__ - 1) + 1][k_] = (0xffffffffffffffff - 65535 <= N) < dst[M52][2 * (a__ - 1) + 1][k_] ? 0xffffffffffffffff - 65535 <= N : dst[M52][2 * (a__ - 1) + 1][k_];
                }
            }
        }
    }
#pragma endscop
}
