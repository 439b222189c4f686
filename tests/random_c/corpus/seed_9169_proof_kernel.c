// proof: UnsupportedError: p9169.c:35:9: unsupported: emitted C has no #pragma omp parallel for num_threads(threads) schedule(dynamic, 1 + ((reduction - 1 > 0 ? reduction - 1 : 0) - 1) / (8 * threads))
// example: {"way": {"form": "kernel", "options": {"proof": true, "seed": 9169, "plan": "auto", "auto": {}}, "calls": [["inline", ["w"], {}], ["distribute", ["acc.idx"], {"at": "acc_2"}], ["reorder", ["acc.col", "acc.idx"], {}], ["split", ["acc.idx2", 4], {}], ["unroll", ["acc.idx2", 0], {}], ["separate_full_tiles", ["acc.idx2_tile"], {}], ["vectorize", ["acc.idx2_tile", 0], {}], ["split", ["acc.idx", 4], {}], ["unroll", ["acc.idx", 0], {}], ["separate_full_tiles", ["acc.idx_tile"], {}], ["vectorize", ["acc.idx_tile", 0], {}], ["vectorize", ["acc.dst", 0], {}], ["parallelize", ["acc.a"], {}]]}, "build": [], "seed": 9169, "program": {"name": "p9169", "parameters": [{"name": "w2", "key": "u64", "kind": "size", "extents": [], "into": null, "aliases": false, "spelling": ""}, {"name": "reduction", "key": "i8", "kind": "size", "extents": [], "into": null, "aliases": false, "spelling": ""}, {"name": "acc", "key": "i32", "kind": "array", "extents": [["reduction", 1, 1], ["w2", 0, 2]], "into": null, "aliases": true, "spelling": "int"}, {"name": "d", "key": "u16", "kind": "array", "extents": [["w2", 3, 1]], "into": null, "aliases": false, "spelling": "unsigned short"}, {"name": "and", "key": "u32", "kind": "array", "extents": [["reduction", 2, 2], ["reduction", 1, 1]], "into": null, "aliases": true, "spelling": "uint32_t"}], "file_names": [], "headers": true, "wild": false, "fixed": {}, "depth": 3}}

void p9169(unsigned long long w2, int8_t reduction, int acc[reduction + 1][2 * w2], unsigned short d[restrict w2 + 3], const uint32_t and[2 * reduction + 2][reduction + 1])
{
 long a;
    unsigned col;
    _Bool M9;
#pragma scop
    M9 = 0;
    acc[0][0] = M9;
    for (a = 1; a <= reduction - 1; a += 3)
        for (int8_t idx = 0; idx < (int)w2 - 1; idx += 4) {
            acc[a][2 * idx + 2] = 1;
            for (col = 0; col + 1 < reduction; col = col + 3)
                acc[a][2 * idx + 2] = acc[a][2 * idx + 2] + ((d[idx + 2] > 0 ? (a + (reduction + 1 > idx + 3 ? and[2 * a + 2][idx + 3] : 0)) / d[idx + 2] : and[2 * a - 2][a - 1]) % 100);
        }
    for (signed kern = reduction - 1; kern > 0; kern--) {
        for (short dst = 0; w2 > dst; dst += 1) {
            double w = (w2 < and[2 * kern - 1][kern] ? w2 : and[2 * kern - 1][kern]) / 255;
            if ((kern) % 4 != 1) {
                acc[kern][2 * dst] = reduction;
            }
        }
    }
#pragma endscop
}
