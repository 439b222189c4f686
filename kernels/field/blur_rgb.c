/* Box blur, 3 x 3, of an interleaved image of 8 bits; the sum is rounded once. The border is not
   written. */
#include <stdint.h>

void blur_rgb(int H, int W, const uint8_t img[restrict H][W][3], uint8_t out[restrict H][W][3])
{
    for (int y = 1; y < H - 1; y++)
        for (int x = 1; x < W - 1; x++)
            for (int c = 0; c < 3; c++) {
                int sum = 0;
                for (int dy = -1; dy <= 1; dy++)
                    for (int dx = -1; dx <= 1; dx++)
                        sum += img[y + dy][x + dx][c];
                out[y][x][c] = (sum + 4) / 9;
            }
}
