// a1[0, 0] is 27, not 134 (24 differ), for {'N': 3, 'M': 3} on 1 thread(s)
// sizes: {"N": 3, "M": 3}
// move: ["tile", ["a1"], {"i": 8}]
// move: ["fuse", ["a0"], {"into": "a1", "at": "a1.i_tile", "storage": "scratch"}]
// move: ["fuse", ["s0"], {"into": "a1", "at": "a1.i_tile", "storage": "scratch"}]

#include <math.h>
#include <stdint.h>

void random_33(int N, int M, const uint8_t in0[restrict N + 5][M + 5],
               const uint8_t in1[restrict N + 2], uint8_t a1[restrict N + 3][M + 1])
{
    uint32_t a0[N + 5][M + 3];
    for (int i = 0; i < N + 5; i++)
        for (int j = M + 2; j >= 0; j--) {
            uint32_t s0 = 0;
            for (int l = 0; l < 2; l++)
                s0 -= in0[(i + l) / 2][j + 2];
            a0[i][j] = s0;
        }
    for (int i = 0; i < N + 3; i++)
        for (int j = 0; j < M + 1; j++)
            a1[i][j] = (a0[i][j] < a0[i + 1][j] / 2 ? a0[i][j] : 3) + a0[i + 1][j] / 2 + a0[i][j + 1] / 5;
}
