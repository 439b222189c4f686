// frontend: NotDecidedError: <program>:4:1: not-decided: the lowering of random_125955: not decided within 1,500,000 isl operations
// sizes: {"N": 2}

#include <math.h>
#include <stdint.h>

void random_125955(int N, const int in0[restrict N + 2][N], int a0[restrict N + 2][N - 1],
                   int a1[restrict N + 2][N - 1])
{
    for (int i = 0; i < N + 2; i += 2) {
        for (int j = 0; j < N - 1; j++)
            a0[i][j] = in0[i][j] * (in0[i][j + 1] / 3);
        if (i + 1 < N + 2)
            for (int j = 0; j < N - 1; j++)
                a0[i + 1][j] = (in0[i + 1][j + 1] > in0[i + 1][j + 1] % 5 ? in0[i + 1][j + 1] : in0[i + 1][j + 1] % 5) + in0[i][j] / 5;
    }
    for (int i = 0; i < N + 2; i++)
        for (int j = 0; j < N - 1; j++)
            if ((j) % 3 != 1) {
                a1[i][j] = a0[i][j] / 2 * (a0[i][N - j - 2] / 5) + a0[i][j] / 2 - a0[j + 1][j] / 2;
            } else {
                a1[i][j] = ((j + 1 < N - 1 ? a0[i][j + 1] : 0) < 0 ? -(j + 1 < N - 1 ? a0[i][j + 1] : 0) : j + 1 < N - 1 ? a0[i][j + 1] : 0) + a0[i][j] % 5 + a0[i][j];
            }
}
