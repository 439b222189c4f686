// wrong: a1[0, 0] is 135.0, not 6.0 (12 differ), for {'N': 1, 'M': 2} on 1 thread(s)
// sizes: {"N": 1, "M": 2}
// build: gcc -O2 -march=native -fopenmp
// move: ["fuse_loops", ["a0.i", "a0_1.i"], {"depth": 2, "shift": 0}]
// move: ["fuse_loops", ["a1.i", "a1_1.i"], {"depth": 2, "shift": 0}]
// move: ["fuse", ["a0"], {"into": "a1", "at": "a1_1.i", "storage": "sliding"}]

void random_32211(int N, int M, const uint8_t in0[restrict M + 1][M + 3],
                  float in1[restrict N + 5][N + 4], float a1[restrict N + 2][N + 3])
{
    uint8_t a0[N + 3][N + 3];
    for (int i = 1; i < N + 5; i++)
        for (int j = 0; j < N + 4; j++)
            in1[i][j] = fminf(fmaxf(fminf(fmaxf(in1[i - 1][j], -50.0f), 50.0f) + fminf(fmaxf(in1[i][j], -50.0f), 50.0f), -50.0f), 50.0f);
    for (int i = 0; i < N + 3; i += 2)
        for (int j = 0; j < N + 3; j++)
            a0[i][j] = fabsf(fminf(fminf(in1[i][j + 1], in1[i + 1][j]), in1[i + 2][j]));
    for (int i = 1; i < N + 3; i += 2)
        for (int j = 0; j < N + 3; j++)
            a0[i][j] = fabsf(fminf(fmaxf((in1[i + 1][j + 1] < in1[j][j + 1] ? in1[i + 1][j + 1] : 3) + in1[j][j + 1], -50.0f), 50.0f));
    for (int i = N + 1; i >= 0; i -= 2)
        for (int j = N + 2; j >= 0; j--)
            a1[i][j] = (a0[i + 1][j] >> 1) + -2 * a0[i][j] + a0[i + 1][j];
    for (int i = N; i >= 0; i -= 2)
        for (int j = N + 2; j >= 0; j--)
            a1[i][j] = a0[i][j];
}
