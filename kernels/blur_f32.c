/* Box blur, 3 x 3, in two stages on floats; the valid region, so no border is read. */

void blur_f32(int H, int W, const float img[restrict H][W], float out[restrict H - 2][W - 2])
{
    float bx[H][W - 2];

    for (int y = 0; y < H; y++)
        for (int x = 0; x < W - 2; x++)
            bx[y][x] = (img[y][x] + img[y][x + 1] + img[y][x + 2]) * (1.0f / 3);

    for (int y = 0; y < H - 2; y++)
        for (int x = 0; x < W - 2; x++)
            out[y][x] = (bx[y][x] + bx[y + 1][x] + bx[y + 2][x]) * (1.0f / 3);
}
