// compiler: compiler-failed: the C compiler failed
// sizes: {"N": 6, "M": 5}
// move: ["inline", ["a0"], {}]
// move: ["fuse_loops", ["a2.i", "a2_1.i"], {"depth": 3, "shift": 0}]
// move: ["tile", ["a2"], {"i": 16}]
// move: ["fuse", ["a1"], {"into": "a2", "at": "a2_1.i", "storage": "sliding"}]
// move: ["parallelize", ["a2_1.i_tile"], {}]

#include <math.h>
#include <stdint.h>

void random_223(int N, int M, const int in0[restrict N + 4][M + 5],
                const int16_t in1[restrict M + 2][N + 5],
                const int16_t in2[restrict 5][M + 2][N + 4], int a2[restrict 3][M - 1][N + 4])
{
    int a0[3][M + 2][N + 4];
    int16_t a1[3][M + 1][N + 4];
    for (int i = -3; i < 0; i++)
        for (int j = 0; j < M + 2; j++)
            for (int k = 0; k < N + 4; k++)
                a0[i + 3][j][k] = in2[i + 4][j][k] % 5 > (0 <= i + 2 ? in2[i + 2][j][k] : 0) ? in2[i + 4][j][k] % 5 : 0 <= i + 2 ? in2[i + 2][j][k] : 0;
    for (int i = 2; i < 5; i++)
        for (int j = M; j >= 0; j--)
            for (int k = N + 3; k >= 0; k--)
                if ((i + k - 2) % 2 == 0) {
                    a1[i - 2][j][k] = a0[i - 2][j + 1][k] < 0 ? -a0[i - 2][j + 1][k] : a0[i - 2][j + 1][k];
                } else {
                    a1[i - 2][j][k] = a0[i - 2][j][N - k + 3] / 5 + a0[i - 2][j][k] / 2;
                }
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < M - 1; j += 2)
            for (int k = -1; k < N + 3; k++)
                a2[i][j][k + 1] = (a1[i][j + 2][N + 3] / 2 < a1[i][j + 1][k + 1] ? a1[i][j + 2][N + 3] / 2 : a1[i][j + 1][k + 1]) + a1[i][j][k + 1];
    for (int i = 0; i < 3; i++)
        for (int j = 1; j < M - 1; j += 2)
            for (int k = -1; k < N + 3; k++)
                a2[i][j][k + 1] = a1[i][j + 1][k + 1] - (a1[i][j][N + 3] < 0 ? -a1[i][j][N + 3] : a1[i][j][N + 3]) + -2 * a1[i][j + 2][0] + a1[i][j][k + 1] + (k - i - j + 2);
}
