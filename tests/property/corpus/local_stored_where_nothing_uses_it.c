// compiler: compiler-failed: the C compiler failed
// sizes: {"N": 2}
// move: ["store", ["s1"], {"at": "a1.i"}]

#include <math.h>
#include <stdint.h>

void random_100146(int N, double in0[restrict N + 3][N + 2][N],
                   const double in1[restrict N + 2][N + 4], double a1[restrict N + 2][N + 2])
{
    double a0[N + 3][N + 2];
    for (int i = 0; i < N + 3; i++)
        for (int j = 0; j < N + 2; j++) {
            double s1 = 0;
            for (int l = 0; l < 3; l++)
                s1 += in0[(i + l) / 2][j][N - 1];
            a0[i][j] = s1;
        }
    for (int i = 0; i < N + 2; i++)
        for (int j = -3; j < N - 1; j++)
            a1[i][j + 3] = fmax(a0[i + 1][j + 3], a0[i + 1][0]) + 2 * a0[i + 1][j + 2 < 0 ? 0 : j + 2];
}
