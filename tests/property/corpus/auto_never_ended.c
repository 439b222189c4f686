// po.auto did not end: the box of a footprint had corners that depend on M modulo 32
// sizes: {"N": 1, "M": 4}
// move: ["auto", [], {}]

#include <math.h>
#include <stdint.h>

void random_57(int N, int M, const float in0[restrict M + 5][N + 4],
               float a1[restrict M + 5][N + 4])
{
    float a0[M + 5][N + 4];
    float row0[N + 6];
    for (int i = 0; i < M + 5; i++) {
        for (int j = N + 5; j >= 0; j--)
            row0[j] = (in0[i][0] + floorf(in0[i][N + 3] * 0.5f) < in0[i][N + 3] ? in0[i][0] + floorf(in0[i][N + 3] * 0.5f) : 3) + in0[i][N + 3];
        for (int j = -1; j < N + 3; j++)
            a0[i][j + 1] = row0[j + 1] + row0[j + 3];
    }
    for (int i = 0; i < M + 5; i++)
        for (int j = -3; j < N + 1; j++) {
            a1[i][j + 3] = (float)7;
            for (int k = 0; k < 2; k++)
                a1[i][j + 3] += a0[(i + k) / 2][j + 3] - a0[i][j + 3];
        }
}
