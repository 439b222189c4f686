// emit: Error: call to isl_ast_build_node_from_schedule failed: <no message>
// sizes: {"N": 3}
// move: ["separate_full_tiles", ["a0.l"], {}]
// move: ["distribute", ["a0.j"], {"at": "a0_1"}]
// move: ["unroll_and_jam", ["a0.j", 2], {}]

#include <math.h>
#include <stdint.h>

void random_701484(int N, const float in0[restrict 2 * N][2 * N + 2],
                   float a1[restrict N - 1][N + 1])
{
    double a0[2 * N - 2][N + 1];
    for (int i = 0; i < 2 * N - 2; i++)
        for (int j = -3; j < N - 2; j++) {
            a0[i][j + 3] = 0;
            for (int k = 0; k < 3; k++)
                for (int l = 0; l < 3; l++)
                    a0[i][j + 3] -= (in0[i + k][j + l + 3] < in0[(k) / 2][i] ? in0[i + k][j + l + 3] : 3) + in0[(k) / 2][i];
        }
    for (int i = 0; i < N - 1; i++)
        for (int j = 0; j < N + 1; j++)
            a1[i][j] = 7;
    for (int k = 2; k < 4; k++)
        for (int l = 0; l < 2; l++)
            for (int i = 0; i < N - 1; i++)
                for (int j = 0; j < N + 1; j++)
                    a1[i][j] = fmaxf(a1[i][j], fmin(a0[i + k - 2][(j + l) / 2], a0[k - 2][l]));
}
