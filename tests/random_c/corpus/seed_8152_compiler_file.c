// compiler: the user's own INFINITY became that of the header
// example: {"way": {"form": "file", "options": {"target": "avx512", "tile": true, "parallel": true, "fuse": "output", "threads": null}, "calls": []}, "build": ["-O1", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"], "seed": 8152, "program": {"name": "p8152", "parameters": [{"name": "dst", "key": "u32", "kind": "size", "extents": [], "into": null, "aliases": false, "spelling": ""}, {"name": "acc", "key": "u64", "kind": "size", "extents": [], "into": null, "aliases": false, "spelling": ""}, {"name": "INFINITY", "key": "u32", "kind": "array", "extents": [["acc", 0, 1], ["dst", 2, 1]], "into": null, "aliases": false, "spelling": "unsigned"}, {"name": "N", "key": "f32", "kind": "array", "extents": [["dst", 0, 1], ["acc", 0, 2]], "into": null, "aliases": true, "spelling": "float"}, {"name": "img", "key": "u32", "kind": "array", "extents": [["acc", 0, 1], ["acc", 0, 1]], "into": null, "aliases": false, "spelling": "unsigned int"}], "file_names": ["out"], "headers": false, "wild": true, "fixed": {}, "depth": 2}}

void p8152(unsigned dst, unsigned long long acc, unsigned (*restrict INFINITY)[dst + 2], float N[static dst][2 * acc], unsigned int img[restrict acc][acc])
{
#pragma scop
    for (short M_PI_2 = 0; 2 > M_PI_2; ++M_PI_2) {
        for ( long idx2 = acc; idx2; idx2--)
            for (int out8 = 0; out8 < dst; out8 = out8 + 4)
                INFINITY[idx2 - 1][out8 + 1] = (acc > out8 + 3 ? img[out8 + 3][(idx2 - 1) / 2] : 1) - INFINITY[idx2 - 1][out8 + 2] + INFINITY[acc - 1 - (idx2 - 1)][out8 + 2];
    }
#pragma endscop
}
