/* The luminance of pixels with a gamma, three bytes each. */
#include <math.h>

void luminance(int H, int W, const unsigned char img[restrict H][W][3], float out[restrict H][W])
{
    for (int y = 0; y < H; y++)
        for (int x = 0; x < W; x++) {
            float light[3];
            for (int c = 0; c < 3; c++) {
                float v = img[y][x][c] / 255.0f;
                light[c] = v <= 0.04045f ? v / 12.92f : powf((v + 0.055f) / 1.055f, 2.4f);
            }
            out[y][x] = 0.2126f * light[0] + 0.7152f * light[1] + 0.0722f * light[2];
        }
}
