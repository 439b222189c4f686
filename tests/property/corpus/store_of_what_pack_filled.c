// compiler: compiler-failed: the C compiler failed
// sizes: {"N": 2, "M": 3}
// move: ["fuse", ["a0"], {"into": "a1", "at": "a1.i", "storage": "sliding"}]
// move: ["tile", ["a1"], {"i": 2}]
// move: ["pack", ["in2"], {"at": "a1.i_tile"}]
// move: ["store", ["in2"], {"at": "a1.j"}]

#include <math.h>
#include <stdint.h>

void random_100082(int N, int M, const int8_t in0[restrict N + 3][2 * N + 3],
                   const int in1[restrict 8][M], const int8_t in2[restrict M][M][M + 2],
                   int8_t a1[restrict 8][M - 2])
{
    int8_t a0[8][M - 1];
    for (int i = 0; i < 8; i++)
        for (int j = 0; j < M - 1; j++) {
            a0[i][j] = 0;
            for (int k = 0; k < 2; k++)
                for (int l = 0; l < 2; l++)
                    a0[i][j] = a0[i][j] > (in1[(i + k) / 2][j + l] < in2[(k) / 2][(l) / 2][l] ? in1[(i + k) / 2][j + l] : in2[(k) / 2][(l) / 2][l]) ? a0[i][j] : in1[(i + k) / 2][j + l] < in2[(k) / 2][(l) / 2][l] ? in1[(i + k) / 2][j + l] : in2[(k) / 2][(l) / 2][l];
        }
    for (int i = 0; i < 8; i += 2) {
        for (int j = 0; j < M - 2; j++)
            a1[i][j] = a0[i][0] * (a0[i][j] < 0 ? -a0[i][j] : a0[i][j]) + a0[i][j + 1] % 5 + (a0[7][M - 2] < 0 ? -a0[7][M - 2] : a0[7][M - 2]);
        if (i + 1 < 8)
            for (int j = 0; j < M - 2; j++)
                a1[i + 1][j] = a0[i + 1][j] / 2 + (2 * i - j + 3);
    }
}
