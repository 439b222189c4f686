// IllegalScheduleError: the last value of a0 would not be the original one, which it is: isl lost
// reads where remainders by 2 and by 3 meet
// sizes: {"N": 6}
// move: ["fuse_loops", ["a0.j", "a0.jj"], {"depth": 2, "shift": 0}]
// move: ["reorder", ["a0_3.j", "a0.jj"], {}]
// move: ["distribute", ["a0.jj"], {"at": "a0_1"}]
// move: ["distribute", ["a0.jj"], {"at": "a0_2"}]
// move: ["distribute", ["a0_3.j"], {"at": "a0_1"}]
// move: ["distribute", ["a0_3.j"], {"at": "a0_2"}]
// move: ["reorder", ["a0_3.i", "a0.jj", "a0_3.j"], {}]
// move: ["diamond", ["a0_3.i", "a0_3.j", 2], {}]

#include <stdint.h>

void seed_16755(int N, const uint16_t in0[restrict N + 5][N + 2], uint16_t a0[restrict N + 5][N])
{
    for (int j = 0; j < 3 && j < N; j++)
        for (int i = 0; i < N + 5; i++)
            if (j % 3 != 1) {
                a0[i][j] = in0[i][j] / 2;
            } else {
                a0[i][j] = (uint16_t)(in0[0][j] * in0[i][j]);
            }
    for (int jj = 3; jj < N; jj += 3)
        for (int j = jj; j < jj + 3 && j < N; j++)
            for (int i = 0; i < N + 5; i++)
                if (j % 3 != 1) {
                    a0[i][j] = in0[i][j] / 2;
                } else {
                    a0[i][j] = (uint16_t)(in0[0][j] * in0[i][j]);
                }
}
