// slow: isl's search for the least coefficients found no end where it was told of short loops' ends
// sizes: {}
// move: ["reschedule", [], {"fusion": "smart"}]

#include <math.h>

void random_16536(const float in0[restrict 6][5], const float in1[restrict 6][8],
                  float a1[restrict 4][8])
{
    float a0[4][8];
    for (int i = -1; i < 3; i++)
        for (int j = 0; j < 8; j++)
            a0[i + 1][j] = in1[i + 2][j] * in0[i + 2][(j) / 2] + (2 * i + j + 3);
    for (int i = -1; i < 3; i++)
        for (int j = 0; j < 8; j++)
            if (i + 1 >= 2)
                a0[i + 1][j] = in1[i + 2][j];
    for (int i = 0; i < 4; i++)
        for (int j = 0; j < 8; j++)
            a1[i][j] = (a0[i][j] < floorf(a0[i][i + 2] * 0.5f) ? a0[i][j] : 3) + floorf(a0[i][i + 2] * 0.5f) - a0[i][j];
}
