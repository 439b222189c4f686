// wrong: a sanitizer stopped it
// example: {"way": {"form": "file", "options": {"target": "avx2", "tile": true, "parallel": true, "fuse": "hybrid", "threads": 2}, "calls": []}, "build": ["-O1", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"], "seed": 2980, "program": {"name": "p2980", "parameters": [{"name": "B", "key": "u8", "kind": "size", "extents": [], "into": null, "aliases": false}, {"name": "coef", "key": "i16", "kind": "array", "extents": [["B", 1, 1], ["", 16, 1]], "into": null, "aliases": true}, {"name": "sum", "key": "f64", "kind": "array", "extents": [["B", 3, 1]], "into": null, "aliases": false}], "file_names": ["z7"], "headers": true, "wild": true, "fixed": {}, "depth": 2}}

void p2980(const unsigned char B, int16_t *coef, double sum[restrict B + 3])
{
    int16_t i;
#pragma scop
    for (int8_t A = B - 1; A; A = A - 6) {
        const double ny = coef[(B - 1 - A) * 16 + 0] > sum[B - 1 - A];
        bool B3 = 0;
        for (i = 0; i + 1 < B; i = i + 2)
            B3 = B3 && (sqrt(sum[A + 1] > -32767 && sum[A + 1] < 32767 ? (short)sum[A + 1] : 0) > -100 && sqrt(sum[A + 1] > -32767 && sum[A + 1] < 32767 ? (short)sum[A + 1] : 0) < 100 ? (short)sqrt(sum[A + 1] > -32767 && sum[A + 1] < 32767 ? (short)sum[A + 1] : 0) : 7) % 3;
        sum[A] = B3;
    }
#pragma endscop
}
