// a1[0] is 21501, not 9 (4 differ), for {'N': 4} on 1 thread(s)
// sizes: {"N": 4}
// move: ["tile", ["a1"], {"i": 64}]
// move: ["fuse", ["a0"], {"into": "a1", "at": "a1.i_tile", "storage": "scratch"}]

#include <math.h>
#include <stdint.h>

void random_44(int N, int gain, const uint16_t in0[restrict N], uint16_t in1[restrict N + 5],
               uint16_t a1[restrict N + 3])
{
    uint16_t a0[N + 5];
    for (int i = 0; i < N + 5; i++)
        if ((i) % 2 == 0)
            in1[i] += in0[0] & 63;
    for (int i = 0; i < N + 5; i++)
        if (i < 3) {
            a0[i] = in1[i] + in1[i] < gain ? in1[i] + in1[i] : gain;
        } else {
            a0[i] = in1[i] / 5 + (-i + 1);
        }
    for (int i = 0; i < N + 3; i += 2) {
        a1[i] = a0[i + 2] + a0[i] / 3;
        if (i + 1 < N + 3)
            a1[i + 1] = ((2 * a0[i + 1] < a0[i] % 2 ? 2 * a0[i + 1] : 3) + a0[i] % 2 + (a0[i + 1] >> 1)) * (in0[N - 1] % 5);
    }
}
