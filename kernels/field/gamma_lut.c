/* A table of 256 tones for each channel of an interleaved image. */
#include <stdint.h>

void gamma_lut(int H, int W, const uint8_t img[restrict H][W][3],
               const uint8_t table[restrict 3][256], uint8_t out[restrict H][W][3])
{
    for (int y = 0; y < H; y++)
        for (int x = 0; x < W; x++)
            for (int c = 0; c < 3; c++)
                out[y][x][c] = table[c][img[y][x][c]];
}
