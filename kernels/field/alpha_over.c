/* Porter's and Duff's "over" on premultiplied RGBA pixels of 8 bits; x / 255 is rounded. */
#include <stdint.h>

void alpha_over(int H, int W, const uint8_t front[restrict H][W][4],
                const uint8_t back[restrict H][W][4], uint8_t out[restrict H][W][4])
{
    for (int y = 0; y < H; y++)
        for (int x = 0; x < W; x++) {
            unsigned clear = 255u - front[y][x][3];
            for (int c = 0; c < 4; c++) {
                unsigned t = back[y][x][c] * clear + 128u;
                unsigned sum = front[y][x][c] + ((t + (t >> 8)) >> 8);
                out[y][x][c] = sum > 255u ? 255u : sum;
            }
        }
}
