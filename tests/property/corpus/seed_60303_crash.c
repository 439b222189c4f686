// crash: isl ended the process where it joined pieces of several strides
// sizes: {"N": 3, "M": 3}

#include <math.h>
#include <stdint.h>

void random_60303(int N, int M, const uint16_t in0[restrict M + 3][8],
                  const uint16_t in1[restrict M + 4][M + 2],
                  const uint16_t in2[restrict 5][N + 5], uint16_t a0[restrict M + 3][M + 2],
                  uint16_t a1[restrict M + 3][M + 2])
{
    for (int i = 0; i < M + 3; i += 2) {
        for (int j = 0; j < M + 2; j++)
            a0[i][j] = in1[i][j] > in1[i - 2 < 0 ? 0 : i - 2][j] ? in1[i][j] : in1[i - 2 < 0 ? 0 : i - 2][j];
        if (i + 1 < M + 3)
            for (int j = 0; j < M + 2; j++)
                a0[i + 1][j] = (j + 1 < M + 2 ? in1[i + 2][j + 1] : 0) + in1[i][0] % 5;
    }
    for (int i = M + 2; i >= 0; i--)
        for (int j = 0; j < M + 2; j++)
            a1[i][j] = a0[i][j] / 5 - a0[i - 1 < 0 ? 0 : i - 1][j] % 5 + a0[M - i + 2][(i) / 2];
}
