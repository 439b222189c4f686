/* Filmic tone mapping of linear light: exposure, Hable's curve, and a gamma of 2.2. */
#include <math.h>

static float hable(float x)
{
    const float a = 0.15f, b = 0.50f, c = 0.10f, d = 0.20f, e = 0.02f, f = 0.30f;
    return (x * (a * x + c * b) + d * e) / (x * (a * x + b) + d * f) - e / f;
}

void filmic_tone_map(int H, int W, float exposure, float white, const float img[restrict H][W][3],
                     float out[restrict H][W][3])
{
#pragma scop
    for (int y = 0; y < H; y++)
        for (int x = 0; x < W; x++)
            for (int c = 0; c < 3; c++) {
                float mapped = hable(exposure * img[y][x][c]) / hable(white);
                out[y][x][c] = powf(fminf(fmaxf(mapped, 0.0f), 1.0f), 1.0f / 2.2f);
            }
#pragma endscop
}
