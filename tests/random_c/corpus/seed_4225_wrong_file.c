// wrong: did not end
// example: {"way": {"form": "file", "options": {"target": "avx2", "tile": true, "parallel": true, "fuse": "max", "threads": 2}, "calls": []}, "build": ["-O1"], "seed": 4225, "program": {"name": "p4225", "parameters": [{"name": "sum", "key": "u32", "kind": "size", "extents": [], "into": null, "aliases": false, "spelling": ""}, {"name": "z", "key": "u16", "kind": "size", "extents": [], "into": null, "aliases": false, "spelling": ""}, {"name": "M", "key": "i64", "kind": "array", "extents": [["", 16, 1]], "into": null, "aliases": false, "spelling": "long int"}, {"name": "img3", "key": "bool", "kind": "array", "extents": [["sum", 0, 1], ["z", 2, 1]], "into": null, "aliases": true, "spelling": "_Bool"}, {"name": "N", "key": "bool", "kind": "array", "extents": [["", 16, 1], ["z", 3, 1]], "into": null, "aliases": true, "spelling": "_Bool"}], "file_names": ["x0", "c"], "headers": false, "wild": false, "fixed": {}, "depth": 3}}

void p4225(unsigned sum, unsigned short z, long int M[restrict 16], _Bool img3[sum][z + 2], const _Bool N[16][z + 3])
{
#pragma scop
    for (int DBL_MAX = 1;sum > DBL_MAX; DBL_MAX += 3) {
        for (unsigned short B = 0; z > B; B = B + 2) {
            double C6 = 7;
            for (short int k = 0; k + 1 < z; k += 6)
                C6 *= ((B + 2 < z + 2 ? img3[DBL_MAX - 1][B + 2] : 1) == B && (B) % 3 != 1 ? k : 0x80000000) * (M[k % 16] % 15 + B);
            img3[DBL_MAX + 2][B] = C6;
        }
    }
    for (unsigned int tmp2 = 0; 14 > tmp2; ++tmp2)
        M[tmp2] = M[tmp2 + 2] % 97;
#pragma endscop
}
