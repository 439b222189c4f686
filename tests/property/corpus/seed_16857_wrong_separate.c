// gcc 12.2 (-O1, -O2): the calls of a function whose stores go down a row were left out
// sizes: {"N": 5}
// build: gcc -O2 -march=native -fopenmp
// move: ["vectorize", ["a1.j", 0], {}]
// move: ["parallelize", ["a1.i"], {}]
// move: ["diamond", ["a1.i", "a1.j", 6], {}]
// move: ["separate_full_tiles", ["a1.i"], {}]

#include <math.h>
#include <stdint.h>

void random_16857(int N, const double in0[restrict 2 * N + 4][5], double a0[restrict N + 2][5],
                  float a1[restrict N + 1][3], float a2[restrict 2 * N + 4])
{
    for (int i = -1; i < N + 1; i++)
        for (int j = 4; j >= 0; j--)
            a0[i + 1][j] = in0[i + 2][j] * in0[i + 1][j];
    for (int i = -3; i < N - 2; i++)
        for (int j = 2; j >= 0; j--)
            if (i + j + 3 < 6) {
                a1[i + 3][j] = a0[i + 4][j] + fabs(0 <= i + 1 ? a0[i + 1][j] : 0.0) + a0[i + 4][2 * j] + (2 * j - i - 2);
            } else {
                a1[i + 3][j] = a0[i + 4][2 * j] * (3 * a0[i + 3][j]) + 2 * a0[i + 4][j] + a0[i + 4][j + 2];
            }
}
