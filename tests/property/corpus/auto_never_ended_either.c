// po.auto did not end: the greatest extent of a footprint was sought among remainders
// sizes: {"N": 5}
// move: ["auto", [], {}]

#include <math.h>
#include <stdint.h>

void random_1006(int N, const int16_t in0[restrict N + 5],
                 const int16_t in1[restrict 2 * N + 5][N + 3], int16_t a2[restrict N + 2][N + 1])
{
    int16_t a0[2 * N + 3][N + 3];
    int16_t a1[N + 2][N + 1];
    for (int j = 0; j < N + 3; j++)
        for (int i = 0; i < 2 * N + 3; i++)
            a0[i][j] = in1[i][j] / 2;
    for (int i = 0; i < N + 2; i++)
        for (int j = N; j >= 0; j--) {
            a1[i][j] = 1;
            for (int k = 0; k < 3; k++)
                a1[i][j] = a1[i][j] > a0[j + 1][j] + a0[2 * j][i] ? a1[i][j] : a0[j + 1][j] + a0[2 * j][i];
        }
    for (int i = 0; i < N + 2; i++)
        for (int j = 0; j < N + 1; j++)
            a2[i][j] = ((0 <= j - 2 ? a1[i][j - 2] : 0) / 3 < in0[i + 2] ? (0 <= j - 2 ? a1[i][j - 2] : 0) / 3 : 3) + in0[i + 2];
}
