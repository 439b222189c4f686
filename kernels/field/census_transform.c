/* Census transform: which of the 24 pixels around are darker than the one in the middle, a bit
   each. */
#include <stdint.h>

void census_transform(int H, int W, const uint8_t img[restrict H + 4][W + 4],
                      uint32_t code[restrict H][W])
{
    for (int y = 0; y < H; y++)
        for (int x = 0; x < W; x++) {
            uint32_t bits = 0;
            for (int dy = 0; dy < 5; dy++)
                for (int dx = 0; dx < 5; dx++)
                    if (dy != 2 || dx != 2)
                        bits = (bits << 1) | (img[y + dy][x + dx] < img[y + 2][x + 2]);
            code[y][x] = bits;
        }
}
