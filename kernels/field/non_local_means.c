/* Denoising by non-local means: each pixel is a mean of those in a window of 7 x 7 around it,
   weighted by how much the 3 x 3 around them resemble each other. The border, 4 wide, is left
   out. */
#include <math.h>

void non_local_means(int H, int W, float h2, const float img[restrict H + 8][W + 8],
                     float out[restrict H][W])
{
    for (int y = 0; y < H; y++)
        for (int x = 0; x < W; x++) {
            float total = 0.0f, weights = 0.0f;
            for (int dy = -3; dy <= 3; dy++)
                for (int dx = -3; dx <= 3; dx++) {
                    float distance = 0.0f;
                    for (int j = -1; j <= 1; j++)
                        for (int i = -1; i <= 1; i++) {
                            float d = img[y + 4 + j][x + 4 + i] -
                                      img[y + 4 + dy + j][x + 4 + dx + i];
                            distance += d * d;
                        }
                    float weight = expf(-distance / h2);
                    total += weight * img[y + 4 + dy][x + 4 + dx];
                    weights += weight;
                }
            out[y][x] = total / weights;
        }
}
