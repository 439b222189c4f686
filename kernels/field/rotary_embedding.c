/* Positions as angles: pairs of a head's features are turned, each pair by its own frequency. */
#include <math.h>

void rotary_embedding(int S, int H, int D, const float q[restrict S][H][2 * D],
    float out[restrict S][H][2 * D])
{
    for (int s = 0; s < S; s++)
        for (int h = 0; h < H; h++)
            for (int d = 0; d < D; d++) {
                float angle = s * powf(10000.0f, -(float)d / D);
                float c = cosf(angle), n = sinf(angle);
                out[s][h][d] = q[s][h][d] * c - q[s][h][d + D] * n;
                out[s][h][d + D] = q[s][h][d + D] * c + q[s][h][d] * n;
            }
}
