/* The discrete cosine transform of 8 x 8 blocks, as the textbook has it. */
#include <math.h>

void dct_8x8(int N, const float blocks[restrict N][8][8], float out[restrict N][8][8])
{
    for (int b = 0; b < N; b++)
        for (int u = 0; u < 8; u++)
            for (int v = 0; v < 8; v++) {
                float sum = 0.0f;
                for (int y = 0; y < 8; y++)
                    for (int x = 0; x < 8; x++)
                        sum += blocks[b][y][x] * cosf((2 * y + 1) * u * 0.19634954f)
                            * cosf((2 * x + 1) * v * 0.19634954f);
                out[b][u][v] = sum * (u == 0 ? 0.35355339f : 0.5f) * (v == 0 ? 0.35355339f : 0.5f);
            }
}
