// compiler: compiler-failed: the C compiler failed
// sizes: {}
// move: ["vectorize", ["a1.i", 2], {}]
// move: ["fuse", ["a0"], {"into": "a1", "at": "a1.i", "storage": "scratch"}]
// move: ["parallelize", ["a0@a1_i.i"], {}]

#include <math.h>
#include <stdint.h>

void random_100098(const int in0[restrict 8], int a0[restrict 6], int a1[restrict 5])
{
    for (int i = 2; i < 8; i++) {
        a0[i - 2] = 1;
        for (int l = -3; l < 0; l++)
            a0[i - 2] -= in0[i + l + 1];
    }
    for (int i = 2; i < 7; i++)
        a1[i - 2] = (a0[-i + 7] < a0[i - 2] % 5 ? a0[-i + 7] : a0[i - 2] % 5) + in0[i] % 2;
}
