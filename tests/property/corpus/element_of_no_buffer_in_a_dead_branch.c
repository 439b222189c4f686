// emit: an operand that is never read has no place in its buffer
// sizes: {"N": 2, "M": 4}
// move: ["auto", [], {}]

#include <math.h>
#include <stdint.h>

void random_300006(int N, int M, const int64_t in0[restrict N],
                   const int64_t in1[restrict N + 5][M + 5],
                   const int64_t in2[restrict N + 1][2 * M][N + 3],
                   int a3[restrict N + 5][M + 5])
{
    int a0[N + 3][M + 5];
    int64_t a1[N + 3][M + 5];
    int a2[N + 5][M + 5];
    for (int i = 0; i < N + 3; i++)
        for (int j = -3; j < M + 2; j++)
            a0[i][j + 3] = in1[i + 1][j + 3] + (0 <= i - 2 ? in1[i - 2][j + 3] : 0) / 2 + in1[i + 1][j + 3] + in1[i + 1][j + 3];
    for (int i = 0; i < N + 3; i++)
        for (int j = i - 3; j <= M + 1; j++)
            a0[i][j + 3] += in1[i][j + 3] + (in1[i][j + 3] < 0 ? -in1[i][j + 3] : in1[i][j + 3]);
    for (int j = 0; j < M + 5; j++)
        for (int i = 0; i < N + 3; i++)
            a1[i][j] = (a0[i][j] < 0 ? -a0[i][j] : a0[i][j]) - (2 * i - j + 1);
    for (int i = 0; i < N + 5; i++)
        for (int j = 0; j < M + 5; j++)
            a2[i][j] = in1[i][j] * in1[i][j] + in1[i][j] % 5 + -2 * (0 <= j - 2 ? a1[(i) / 2][j - 2] : 0);
    for (int i = 0; i < N + 5; i++)
        for (int j = M + 4; j >= 0; j--)
            a3[i][j] = (a2[i][j] > a2[N - i + 4][0] ? a2[i][j] : a2[N - i + 4][0]) + a2[i][j] + 2 * a2[i][j];
}
