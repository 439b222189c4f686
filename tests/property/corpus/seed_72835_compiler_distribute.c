// compiler: compiler-failed: the C compiler failed
// sizes: {"N": 3, "M": 4}
// form: python
// build: gcc -O0
// move: ["fuse", ["a0"], {"into": "a2", "at": "a2.i", "storage": "register"}]
// move: ["store", ["a0"], {"at": "full", "extents": {"0": 2}}]
// move: ["pack", ["a0"], {"at": "a2.i"}]
// move: ["distribute", ["a2.i"], {"at": "a2"}]

#include <math.h>
#include <stdint.h>

void random_72835(int N, int M, float in0[restrict 2 * N][N + 2][M + 2],
                  const float in1[restrict N + 5], float a0[restrict N + 4],
                  float a1[restrict N + 2], float a2[restrict N + 4])
{
    for (int i = 0; i < N + 4; i++) {
        a0[i] = 3 * in1[i + 1];
        if (i >= 2)
            a1[i - 2] = a0[i - 1] + a0[i - 2];
    }
    for (int i = 0; i < N + 4; i++)
        a2[i] = a0[i] * a0[i] + a0[i];
}
