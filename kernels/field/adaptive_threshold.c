/* A pixel is white where it is brighter than the mean of the 11 x 11 around it, less a constant. */
#include <stdint.h>

#define R 5

static int clamped(int i, int n)
{
    return i < 0 ? 0 : i >= n ? n - 1 : i;
}

void adaptive_threshold(int H, int W, int less, const uint8_t img[restrict H][W],
                        uint8_t out[restrict H][W])
{
    int rows[H][W];

    for (int y = 0; y < H; y++)
        for (int x = 0; x < W; x++) {
            rows[y][x] = 0;
            for (int k = -R; k <= R; k++)
                rows[y][x] += img[y][clamped(x + k, W)];
        }
    for (int y = 0; y < H; y++)
        for (int x = 0; x < W; x++) {
            int sum = 0;
            for (int k = -R; k <= R; k++)
                sum += rows[clamped(y + k, H)][x];
            out[y][x] = (img[y][x] + less) * (2 * R + 1) * (2 * R + 1) > sum ? 255 : 0;
        }
}
