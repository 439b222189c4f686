/* Stereo matching: of 16 shifts, the one for which the sum of absolute differences over 5 x 5
   is the least, for each pixel whose windows lie inside both images. */
#include <stdint.h>
#include <stdlib.h>

void block_matching(int H, int W, const uint8_t left[restrict H][W],
                    const uint8_t right[restrict H][W], uint8_t disparity[restrict H - 4][W - 19])
{
    for (int y = 0; y < H - 4; y++)
        for (int x = 0; x < W - 19; x++) {
            int best = 1 << 30;
            int shift = 0;
            for (int d = 0; d < 16; d++) {
                int sum = 0;
                for (int j = 0; j < 5; j++)
                    for (int i = 0; i < 5; i++)
                        sum += abs(left[y + j][x + 15 + i] - right[y + j][x + 15 + i - d]);
                if (sum < best) {
                    best = sum;
                    shift = d;
                }
            }
            disparity[y][x] = shift;
        }
}
