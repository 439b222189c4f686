/* Integral image: sums over all pixels above and to the left, a row and a column of zeros first. */
#include <stdint.h>

void integral_image(int H, int W, const uint8_t img[restrict H][W],
                    int32_t sum[restrict H + 1][W + 1])
{
    for (int x = 0; x <= W; x++)
        sum[0][x] = 0;
    for (int y = 0; y < H; y++) {
        int32_t row = 0;
        sum[y + 1][0] = 0;
        for (int x = 0; x < W; x++) {
            row += img[y][x];
            sum[y + 1][x + 1] = sum[y][x + 1] + row;
        }
    }
}
