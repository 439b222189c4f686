/* Harris corner detection on a colour image, in 12 stages. The result leaves out a margin of 3 on
   each side, and each stage covers what the next one reads, so no border is read. */

/* Sum of the 3 x 3 neighbourhood of a that starts at (y, x). */
#define SUM3X3(a)                                      \
    (a[y][x] + a[y][x + 1] + a[y][x + 2] +             \
     a[y + 1][x] + a[y + 1][x + 1] + a[y + 1][x + 2] + \
     a[y + 2][x] + a[y + 2][x + 1] + a[y + 2][x + 2])

void harris(int H, int W, const float img[restrict 3][H][W], float out[restrict H - 6][W - 6])
{
    float gray[H - 2][W - 2]; /* starts at (1, 1) of the image */
    float Iy[H - 4][W - 4];   /* these five start at (2, 2) */
    float Ix[H - 4][W - 4];
    float Ixx[H - 4][W - 4];
    float Iyy[H - 4][W - 4];
    float Ixy[H - 4][W - 4];
    float Sxx[H - 6][W - 6]; /* these five, and the result, start at (3, 3) */
    float Syy[H - 6][W - 6];
    float Sxy[H - 6][W - 6];
    float det[H - 6][W - 6];
    float trace[H - 6][W - 6];

    for (int y = 0; y < H - 2; y++)
        for (int x = 0; x < W - 2; x++)
            gray[y][x] = 0.299f * img[0][y + 1][x + 1] + 0.587f * img[1][y + 1][x + 1] +
                         0.114f * img[2][y + 1][x + 1];

    for (int y = 0; y < H - 4; y++)
        for (int x = 0; x < W - 4; x++)
            Iy[y][x] = (1.0f / 12) * (gray[y + 2][x] - gray[y][x]) +
                       (2.0f / 12) * (gray[y + 2][x + 1] - gray[y][x + 1]) +
                       (1.0f / 12) * (gray[y + 2][x + 2] - gray[y][x + 2]);

    for (int y = 0; y < H - 4; y++)
        for (int x = 0; x < W - 4; x++)
            Ix[y][x] = (1.0f / 12) * (gray[y][x + 2] - gray[y][x]) +
                       (2.0f / 12) * (gray[y + 1][x + 2] - gray[y + 1][x]) +
                       (1.0f / 12) * (gray[y + 2][x + 2] - gray[y + 2][x]);

    for (int y = 0; y < H - 4; y++)
        for (int x = 0; x < W - 4; x++)
            Ixx[y][x] = Ix[y][x] * Ix[y][x];

    for (int y = 0; y < H - 4; y++)
        for (int x = 0; x < W - 4; x++)
            Iyy[y][x] = Iy[y][x] * Iy[y][x];

    for (int y = 0; y < H - 4; y++)
        for (int x = 0; x < W - 4; x++)
            Ixy[y][x] = Ix[y][x] * Iy[y][x];

    for (int y = 0; y < H - 6; y++)
        for (int x = 0; x < W - 6; x++)
            Sxx[y][x] = SUM3X3(Ixx);

    for (int y = 0; y < H - 6; y++)
        for (int x = 0; x < W - 6; x++)
            Syy[y][x] = SUM3X3(Iyy);

    for (int y = 0; y < H - 6; y++)
        for (int x = 0; x < W - 6; x++)
            Sxy[y][x] = SUM3X3(Ixy);

    for (int y = 0; y < H - 6; y++)
        for (int x = 0; x < W - 6; x++)
            det[y][x] = Sxx[y][x] * Syy[y][x] - Sxy[y][x] * Sxy[y][x];

    for (int y = 0; y < H - 6; y++)
        for (int x = 0; x < W - 6; x++)
            trace[y][x] = Sxx[y][x] + Syy[y][x];

    for (int y = 0; y < H - 6; y++)
        for (int x = 0; x < W - 6; x++)
            out[y][x] = det[y][x] - 0.04f * trace[y][x] * trace[y][x];
}
