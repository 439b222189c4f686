/* Y'CbCr of BT.601, planes with half as many rows and columns of chroma (4:2:0), to R'G'B' of 8
   bits. */
#include <stdint.h>

static inline uint8_t saturated(int value)
{
    return value < 0 ? 0 : value > 255 ? 255 : value;
}

void yuv_to_rgb(int H, int W, const uint8_t y[restrict 2 * H][2 * W],
                const uint8_t u[restrict H][W], const uint8_t v[restrict H][W],
                uint8_t r[restrict 2 * H][2 * W], uint8_t g[restrict 2 * H][2 * W],
                uint8_t b[restrict 2 * H][2 * W])
{
    for (int i = 0; i < 2 * H; i++)
        for (int j = 0; j < 2 * W; j++) {
            int c = 298 * (y[i][j] - 16) + 128;
            int d = u[i / 2][j / 2] - 128;
            int e = v[i / 2][j / 2] - 128;
            r[i][j] = saturated((c + 409 * e) >> 8);
            g[i][j] = saturated((c - 100 * d - 208 * e) >> 8);
            b[i][j] = saturated((c + 516 * d) >> 8);
        }
}
