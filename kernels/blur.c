/* Box blur, 3 x 3, in two stages on 16-bit pixels; the valid region, so no border is read.
   Sums wrap modulo 2^16, as the cast says. */
#include <stdint.h>

void blur(int H, int W, const uint16_t img[restrict H][W], uint16_t out[restrict H - 2][W - 2])
{
    uint16_t bx[H][W - 2];

    for (int y = 0; y < H; y++)
        for (int x = 0; x < W - 2; x++)
            bx[y][x] = (uint16_t)(img[y][x] + img[y][x + 1] + img[y][x + 2]) / 3;

    for (int y = 0; y < H - 2; y++)
        for (int x = 0; x < W - 2; x++)
            out[y][x] = (uint16_t)(bx[y][x] + bx[y + 1][x] + bx[y + 2][x]) / 3;
}
