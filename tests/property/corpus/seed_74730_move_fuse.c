// move: KeyError: 'a0_0'
// sizes: {"N": 4}
// form: python
// move: ["fuse_loops", ["a0.i", "a0_1.i"], {"depth": 2, "shift": 0}]
// move: ["split_range", ["a0_1.j"], {"at": "a0_1.i"}]
// move: ["vectorize", ["a0_1.j_before", 0], {}]
// move: ["vectorize", ["a0_1.j_at", 0], {}]
// move: ["vectorize", ["a0_1.j", 0], {}]
// move: ["vectorize", ["a1.j", 0], {}]
// move: ["parallelize", ["a0_1.i"], {}]
// move: ["parallelize", ["a1.i"], {}]
// move: ["vectorize", ["a1.j", 8], {}]
// move: ["fuse", ["a0"], {"into": "a1", "at": null, "storage": "sliding", "keep": true}]

#include <math.h>
#include <stdint.h>

void random_74730(int N, const float in0[restrict N][N + 1], float a1[restrict N][N + 1])
{
    float a0[N][N + 1];
    for (int i = 0; i < N; i++)
        for (int j = N; j >= 0; j--)
            a0[i][j] = floorf(in0[i][j] * 0.5f) + in0[i][j] + floorf(in0[i][j] * 0.5f) + in0[i][j];
    for (int i = 0; i < N; i++)
        for (int j = i; j <= N; j++)
            a0[i][j] += fminf(3 * in0[i][j] + in0[i][j], in0[i][j]) + fabsf(in0[i][j]);
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N + 1; j++)
            a1[i][j] = fmaxf(a0[i][i] * fabsf(a0[i][j]), a0[i][j]) + a0[i][j];
}
