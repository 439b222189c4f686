// auto: KeyError: 'a2_1'
// sizes: {"N": 2}
// move: ["auto", [], {"target": "avx512", "tile": true}]

#include <math.h>
#include <stdint.h>

void random_120585(int N, const int in0[restrict N + 4][N + 4], const int in1[restrict N + 5],
                   const int64_t in2[restrict N + 3], int64_t a2[restrict N + 2][N + 4])
{
    int a0[N + 3][5];
    for (int i = 0; i < N + 3; i++)
        for (int j = 4; j >= 0; j--)
            a0[i][j] = in2[i] * (in2[i] % 3);
    int a1[N + 2][N + 5];
    for (int i = 2; i < N + 4; i++)
        for (int j = 0; j < N + 5; j += 2)
            a1[i - 2][j] = (in2[i - 2] < 0 ? -in2[i - 2] : in2[i - 2]) * in2[i - 1] + (a0[i - 1][j + 1 > 4 ? 4 : j + 1] < 0 ? -a0[i - 1][j + 1 > 4 ? 4 : j + 1] : a0[i - 1][j + 1 > 4 ? 4 : j + 1]) + (-i - j + 3);
    for (int i = 2; i < N + 4; i++)
        for (int j = 1; j < N + 5; j += 2)
            a1[i - 2][j] = in2[i - 2] - in2[i - 1];
    for (int j = -1; j < N + 3; j++)
        for (int i = 0; i < N + 2; i++)
            a2[i][j + 1] = (-2 * a1[i][j + 2] < a1[i][j - 1 < 0 ? 0 : j - 1] ? -2 * a1[i][j + 2] : a1[i][j - 1 < 0 ? 0 : j - 1]) + a1[i][N - j + 3] + 2 * a1[i][j + 2];
    for (int i = 0; i < N + 2; i++)
        for (int j = i; j <= N + 3; j++)
            a2[i][j] -= in2[i + 1];
}
