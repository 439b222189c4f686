// proof: UnsupportedError: p2257.c:11:88: unsupported: the literal 18446744073709551606 is not taken
// example: {"way": {"form": "kernel", "options": {"proof": true, "seed": 2257, "plan": "moves", "auto": {}}, "calls": [["split", ["b.res8", 6], {}]]}, "build": [], "seed": 2257, "program": {"name": "p2257", "parameters": [{"name": "buf9", "key": "i16", "kind": "size", "extents": [], "into": null, "aliases": false}, {"name": "idx6", "key": "i64", "kind": "scalar", "extents": [], "into": null, "aliases": false}, {"name": "d", "key": "i16", "kind": "array", "extents": [["", 4, 1], ["buf9", 3, 1]], "into": null, "aliases": false}, {"name": "b", "key": "i16", "kind": "array", "extents": [["buf9", 0, 1], ["buf9", 0, 2]], "into": null, "aliases": true}, {"name": "t", "key": "i16", "kind": "array", "extents": [["buf9", 0, 1], ["buf9", 1, 1]], "into": null, "aliases": true}, {"name": "i", "key": "i16", "kind": "array", "extents": [["buf9", 3, 1], ["buf9", 2, 1], ["buf9", 2, 1]], "into": null, "aliases": false}, {"name": "l", "key": "i16", "kind": "array", "extents": [["buf9", 2, 1], ["", 16, 1], ["buf9", 2, 1]], "into": null, "aliases": false}, {"name": "c", "key": "i16", "kind": "array", "extents": [["buf9", 0, 1], ["buf9", 2, 1]], "into": null, "aliases": true}], "file_names": ["src"], "headers": false, "wild": false, "fixed": {}, "depth": 3}}

void p2257(short int buf9, long int idx6, const short d[restrict 4][buf9 + 3], short b[buf9][2 * buf9], const short int t[buf9][buf9 + 1], short int i[restrict buf9 + 3][buf9 + 2][buf9 + 2], short l[restrict buf9 + 2][16][buf9 + 2], const short int c[static buf9][buf9 + 2])
{
#pragma scop
    for (int len = 0; buf9 - 1 > len; ++len) {
        for (signed res8 = -1; res8 < 2; res8 += 4)
        b[len][2 * len] += (unsigned long)idx6 * len + (len < -10LLU != ~(len + 3 < 16 ? l[len + 1][len + 3][len + 3] : 0));
    }
#pragma endscop
}
