/* Reinhard's global operator: luminances relative to their geometric mean over the image,
   compressed by L / (1 + L); colours follow their luminance. */
#include <math.h>

#define LUMINANCE(p) (0.2126f * (p)[0] + 0.7152f * (p)[1] + 0.0722f * (p)[2])

void global_tone_map(int H, int W, float key, const float img[restrict H][W][3],
                     float out[restrict H][W][3])
{
    double sum = 0.0;

    for (int y = 0; y < H; y++)
        for (int x = 0; x < W; x++)
            sum += logf(LUMINANCE(img[y][x]) + 1e-4f);
    float mean = expf((float)(sum / ((double)H * W)));
    for (int y = 0; y < H; y++)
        for (int x = 0; x < W; x++) {
            float old = LUMINANCE(img[y][x]);
            float l = key / mean * old;
            float ratio = l / (1.0f + l) / (old + 1e-4f);
            for (int c = 0; c < 3; c++)
                out[y][x][c] = fminf(ratio * img[y][x][c], 1.0f);
        }
}
