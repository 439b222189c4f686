// wrong: a0[0] is 14, not 7 (2 differ), for {} on 1 thread(s)
// sizes: {}
// build: clang -O1 -fopenmp
// move: ["fuse_loops", ["a0.i", "a0.ii"], {"depth": 1, "shift": 0}]
// move: ["fuse_loops", ["a0.ii", "a0_2.i"], {"depth": 1, "shift": 0}]
// move: ["unroll", ["a0_1.i", 0], {}]
// move: ["split", ["a0_2.i", 3], {}]
// move: ["unroll", ["a0_2.i", 0], {}]
// move: ["vectorize", ["a0_2.i_tile", 0], {}]

void random_46860(const int in0[restrict 6], const int in1[restrict 8], int a0[restrict 6])
{
    for (int i = 0; i < 6; i++)
        a0[i] = in0[i] - in0[i] + 2 * in0[i];
    for (int ii = 0; ii < 0 + 2 && ii < 6; ii += 2)
        for (int i = ii; i < ii + 2 && i < 0 + 2 && i < 6; i++)
            if ((i) % 3 != 1)
                a0[i] = in0[i];
    for (int i = 0 + 2; i < 6; i++)
        if ((i) % 3 != 1)
            a0[i] = in0[i];
}
