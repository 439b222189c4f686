// a0[0, 0] is 3, not 4 (9 differ), for {'N': 1} on 1 thread(s)
// sizes: {"N": 1}
// move: ["pack", ["in0"], {"at": "a0.j"}]
// move: ["unroll", ["a0.j", 2], {}]

#include <math.h>
#include <stdint.h>

void random_40(int N, float in0[restrict 2 * N + 2][5], const float in1[restrict N + 4][5],
               uint8_t a0[restrict 2 * N][5])
{
    for (int i = 0; i < 2 * N; i++)
        for (int j = 4; j >= 0; j--)
            a0[i][j] = fabsf(fminf(in0[i][j], in0[i + 2][j]));
    for (int i = 0; i < 2 * N; i++)
        for (int j = 0; j <= i && j <= 4; j++)
            a0[i][j] += fabsf(i + 1 < N + 4 ? in1[i + 1][j] : 0.0f);
}
