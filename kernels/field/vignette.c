/* An image that fades to its corners. */
#include <math.h>

void vignette(int H, int W, float strength, const float img[restrict H][W],
    float out[restrict H][W])
{
    for (int y = 0; y < H; y++)
        for (int x = 0; x < W; x++) {
            float dy = (y - H * 0.5f) / H, dx = (x - W * 0.5f) / W;
            out[y][x] = img[y][x] * expf(-strength * dx * dx) * expf(-strength * dy * dy);
        }
}
