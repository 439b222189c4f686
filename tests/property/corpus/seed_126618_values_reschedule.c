// values: a2.i has values for ['a0', 'a1', 'a2_0', 'a2_1'], and ['a0', 'a1', 'a2_0'] in it
// sizes: {}
// form: python
// move: ["reschedule", [], {"fusion": "hybrid"}]

#include <math.h>
#include <stdint.h>

void random_126618(int gain, const int in0[restrict 5], int a2[restrict 3])
{
    int a0[5];
    int a1[3];
    for (int i = 0; i < 5; i++) {
        a0[i] = in0[i] + in0[i] + gain;
        if (i >= 2)
            a1[i - 2] = a0[i] - a0[i - 2];
    }
    for (int i = 0; i < 3; i++)
        if (i < 3) {
            a2[i] = (a1[i] + a1[i] / 2 < (a1[i] < 0 ? -a1[i] : a1[i]) ? a1[i] + a1[i] / 2 : 3) + (a1[i] < 0 ? -a1[i] : a1[i]);
        } else {
            a2[i] = a1[i] / 2 + (i + 1 < 3 ? a1[i + 1] : 0) / 2;
        }
}
