/* Unsharp masking of a colour image: sharpen its brightness by what a Gaussian of sigma 1.5 takes
   away. Outside the image its edge repeats. */

/* The Gaussian exp(-i*i / (2 * 1.5 * 1.5)) / (sqrt(2 * pi) * 1.5) at i = 0, 1, 2, 3. */
#define K0 0.2659615202676218f
#define K1 0.2129653370149015f
#define K2 0.10934004978399575f
#define K3 0.035993977675458706f

/* Index i of an array of n elements whose edge elements repeat on both sides. */
#define EDGE(i, n) ((i) < 0 ? 0 : (i) > (n) - 1 ? (n) - 1 : (i))

void unsharp(int H, int W, const float img[restrict 3][H][W], float out[restrict 3][H][W])
{
    float gray[H + 6][W + 6]; /* starts at (-3, -3) of the image */
    float by[H][W + 6];       /* starts at (0, -3) */
    float bx[H][W];
    float sharpen[H][W];
    float ratio[H][W];

    for (int y = 0; y < H + 6; y++)
        for (int x = 0; x < W + 6; x++)
            gray[y][x] = 0.299f * img[0][EDGE(y - 3, H)][EDGE(x - 3, W)] +
                         0.587f * img[1][EDGE(y - 3, H)][EDGE(x - 3, W)] +
                         0.114f * img[2][EDGE(y - 3, H)][EDGE(x - 3, W)];

    for (int y = 0; y < H; y++)
        for (int x = 0; x < W + 6; x++)
            by[y][x] = K0 * gray[y + 3][x] +
                       K1 * (gray[y + 2][x] + gray[y + 4][x]) +
                       K2 * (gray[y + 1][x] + gray[y + 5][x]) +
                       K3 * (gray[y][x] + gray[y + 6][x]);

    for (int y = 0; y < H; y++)
        for (int x = 0; x < W; x++)
            bx[y][x] = K0 * by[y][x + 3] +
                       K1 * (by[y][x + 2] + by[y][x + 4]) +
                       K2 * (by[y][x + 1] + by[y][x + 5]) +
                       K3 * (by[y][x] + by[y][x + 6]);

    for (int y = 0; y < H; y++)
        for (int x = 0; x < W; x++)
            sharpen[y][x] = 2.0f * gray[y + 3][x + 3] - bx[y][x];

    for (int y = 0; y < H; y++)
        for (int x = 0; x < W; x++)
            ratio[y][x] = sharpen[y][x] / gray[y + 3][x + 3];

    for (int c = 0; c < 3; c++)
        for (int y = 0; y < H; y++)
            for (int x = 0; x < W; x++)
                out[c][y][x] = ratio[y][x] * img[c][y][x];
}
