// move: KeyError: 'a0_0'
// sizes: {"N": 6, "M": 6}
// move: ["fuse_loops", ["a0.i", "a0_1.i"], {"depth": 2, "shift": 0}]
// move: ["split_range", ["a0_1.j"], {"at": "a0_1.i"}]
// move: ["vectorize", ["a0_1.j_before", 0], {}]
// move: ["vectorize", ["a0_1.j_at", 0], {}]
// move: ["vectorize", ["a0_1.j", 0], {}]
// move: ["parallelize", ["a0_1.i"], {}]
// move: ["vectorize", ["a0_1.j_before", 0], {}]
// move: ["fuse", ["a0_0@a0_1.j#before"], {"into": "a0_1@a0_1.j#at", "at": "a0_1.j_at", "storage": "full", "keep": true}]

#include <math.h>
#include <stdint.h>

void random_35999(int N, int M, const int in0[restrict M + 2][N + 5][N + 2],
                  const int in1[restrict N + 4][M + 3], int a0[restrict N + 2][M + 1])
{
    for (int i = 0; i < N + 2; i++)
        for (int j = M; j >= 0; j--)
            a0[i][j] = in1[i][j] + (in1[i + 1][j + 1] < 0 ? -in1[i + 1][j + 1] : in1[i + 1][j + 1]) + in1[i + 1][j + 1] / 2;
    for (int i = 0; i < N + 2; i++)
        for (int j = i; j <= M; j++)
            a0[i][j] += in1[i][j];
}
