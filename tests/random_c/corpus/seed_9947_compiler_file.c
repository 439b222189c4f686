// A macro's parameter called INT_MAX was taken for the macro, which the file does not have.
// example: {"way": {"form": "file", "options": {"threads": null}, "calls": []}, "build": ["-O1", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"], "seed": 9947, "program": {"name": "p9947", "parameters": [{"name": "i9", "key": "u32", "kind": "size", "extents": [], "into": null, "aliases": false, "spelling": ""}, {"name": "img", "key": "u64", "kind": "size", "extents": [], "into": null, "aliases": false, "spelling": ""}, {"name": "y7", "key": "u64", "kind": "size", "extents": [], "into": null, "aliases": false, "spelling": ""}, {"name": "y", "key": "f64", "kind": "array", "extents": [["y7", 0, 1], ["img", 0, 1]], "into": null, "aliases": false, "spelling": "double"}, {"name": "ny3", "key": "u32", "kind": "array", "extents": [["", 10, 1]], "into": null, "aliases": true, "spelling": "unsigned"}, {"name": "tmp", "key": "u32", "kind": "array", "extents": [["i9", 0, 1]], "into": null, "aliases": false, "spelling": "unsigned"}, {"name": "n", "key": "u32", "kind": "array", "extents": [["", 4, 1]], "into": null, "aliases": false, "spelling": "unsigned"}, {"name": "t", "key": "f64", "kind": "array", "extents": [["", 16, 1]], "into": null, "aliases": true, "spelling": "double"}, {"name": "len", "key": "i32", "kind": "scalar", "extents": [], "into": null, "aliases": false, "spelling": ""}, {"name": "omp", "key": "i16", "kind": "array", "extents": [["", 16, 1]], "into": ["i9", 0, 1], "aliases": false, "spelling": "short int"}], "file_names": ["img4"], "headers": false, "wild": true, "fixed": {}, "depth": 2}}

static int img4(double h)
{
    return ((h <= 64 ? h : -2) + (h < h ? h : h)) * (-6 > 6 ? h : h) > -100000 && ((h <= 64 ? h : -2) + (h < h ? h : h)) * (-6 > 6 ? h : h) < 100000 ? (int)(((h <= 64 ? h : -2) + (h < h ? h : h)) * (-6 > 6 ? h : h)) : 1;
}
#define AT_4(AT_4AT_4, or, INT_MAX) (AT_4AT_4)[(or) * (img) + (INT_MAX)]
void p9947(unsigned i9, unsigned long img, unsigned long y7, const double *restrict y, const unsigned *ny3, const unsigned tmp[restrict i9], const unsigned n[restrict 4], double t[16], signed len, short int omp[restrict 16])
{
    signed h;
#pragma scop
    h = 1;
    for (unsigned i = 0; i <= y7 - 1; i = i + 7)
        for (signed char AT_4AT_4_1 = 0; AT_4AT_4_1 < img; AT_4AT_4_1 = AT_4AT_4_1 + 4) {
            h -= ((i <= img - 1 ? n[i % 4] : AT_4AT_4_1 + 1 < y7 ? AT_4(y, AT_4AT_4_1 + 1, AT_4AT_4_1) : 4294967296) > -100 && (i <= img - 1 ? n[i % 4] : AT_4AT_4_1 + 1 < y7 ? AT_4(y, AT_4AT_4_1 + 1, AT_4AT_4_1) : 4294967296) < 100 ? (short int)(i <= img - 1 ? n[i % 4] : AT_4AT_4_1 + 1 < y7 ? AT_4(y, AT_4AT_4_1 + 1, AT_4AT_4_1) : 4294967296) : -1) / 3;
        }
#pragma endscop
    t[1] = h;
}
