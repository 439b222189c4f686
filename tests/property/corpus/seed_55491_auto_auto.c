// auto: KeyError: 'a0_1'
// sizes: {}
// form: python
// move: ["auto", [], {"target": "avx512", "tile": true}]

#include <math.h>
#include <stdint.h>

void random_55491(const double in0[restrict 5], float a2[restrict 3])
{
    float a0[3];
    double a1[3];
    for (int i = 1; i < 4; i++)
        if (i - 1 < 3) {
            a0[i - 1] = (in0[i - 1] + in0[i - 1]) * in0[i - 1];
        } else {
            a0[i - 1] = (float)(fmax(in0[2 * i - 2], in0[i]) + in0[i]);
        }
    for (int i = 0; i < 3; i++)
        a1[i] = (double)(floorf(a0[i] * 0.5f) + a0[i] + (i + 1));
    for (int i = 0; i < 3; i++)
        a2[i] = fmax(floor(a1[i] * 0.5), fabs(a1[i]));
}
