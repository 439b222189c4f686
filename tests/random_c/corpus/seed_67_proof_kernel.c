// proof: UnknownNameError: unknown-name: no array is called 'N'
// example: {"way": {"form": "kernel", "options": {"proof": true, "seed": 67, "plan": "auto, moves", "auto": {"target": "neon", "tile": true}}, "calls": [["inline", ["d8_1"], {}], ["inline", ["z_1"], {}], ["split", ["col.src", 2], {}], ["unroll", ["col.src", 0], {}], ["separate_full_tiles", ["col.src_tile"], {}], ["vectorize", ["col.src_tile", 0], {}], ["parallelize", ["col.ny"], {}], ["parallelize", ["col.tmp"], {}], ["split", ["col.tmp", 4], {}]]}, "build": [], "seed": 67, "program": {"name": "p67", "parameters": [{"name": "C", "key": "u16", "kind": "size", "extents": [], "into": null, "aliases": false}, {"name": "acc", "key": "u32", "kind": "array", "extents": [["", 7, 1]], "into": null, "aliases": true}, {"name": "z", "key": "u8", "kind": "array", "extents": [["C", 0, 1], ["C", 0, 1]], "into": null, "aliases": true}, {"name": "N", "key": "u8", "kind": "scalar", "extents": [], "into": null, "aliases": false}, {"name": "col", "key": "u32", "kind": "array", "extents": [["C", 0, 1], ["C", 0, 1]], "into": null, "aliases": false}, {"name": "t", "key": "i16", "kind": "scalar", "extents": [], "into": null, "aliases": false}, {"name": "len", "key": "u32", "kind": "array", "extents": [["", 1, 1], ["", 3, 1]], "into": null, "aliases": true}], "file_names": ["out", "c0"], "headers": false, "wild": false, "fixed": {}, "depth": 3}}

 c0(double z, _Bool idx)
{
    int d8 = (z + 1) < 1000 ? (int)( 1) : 7;
    return (d8 < z) >> 5;
}
void p67(unsigned short C, const unsigned int acc[7], const unsigned char z[static C][C], unsigned char N, unsigned int col[restrict C][C], short int t, const unsigned int len[static 1][3])
{
    unsigned res5;
#pragma scop
    for (unsigned long ny = 0; ny < C; ny += 2)
        for (unsigned int src = 1; src + 1 < C; src = src + 2)
                col[ny][src] = ((src >= src ? src : col[src - 1][0]) - (src != src ? src : N)) * (ny != src ? 3e-2f : z[C - 1 - src - 1][src]) > -1 && ((src >= src ? src : col[src - 1][0]) - (src != src ? src : N)) * (ny != src ? 3e-2f : z[C - 1 - src - 1][src]) < 1000 ? (unsigned int)(((src >= src ? src : col[src - 1][0]) - (src != src ? src : N)) * (ny != src ? 3e-2f : z[C - 1 - src - 1][src])) : 1;
    for (int tmp = 1; tmp < C - 1; ++tmp) {
        for (res5 = 0; C > res5; res5 += 6) {
            float i = 0;
            for (unsigned int col_0 = 1; C > col_0; col_0 = col_0 + 6) {
                i += len[0][res5 % 3] + c0(acc[tmp % 7], 1.5f);
            }
            col[res5][tmp - 1] = i > -1 && i < 100 ? (unsigned int)i : 1;
        }
    }
#pragma endscop
}
