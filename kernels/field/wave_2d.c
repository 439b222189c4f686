/* T steps of the wave equation: three states, which move on by copies. */

void wave_2d(int T, int H, int W, float c2, float old[restrict H][W], float now[restrict H][W])
{
    float new[H][W];

    for (int t = 0; t < T; t++) {
        for (int y = 1; y < H - 1; y++)
            for (int x = 1; x < W - 1; x++)
                new[y][x] = 2.0f * now[y][x] - old[y][x] +
                            c2 * (now[y - 1][x] + now[y + 1][x] + now[y][x - 1] + now[y][x + 1] -
                                  4.0f * now[y][x]);
        for (int y = 1; y < H - 1; y++)
            for (int x = 1; x < W - 1; x++) {
                old[y][x] = now[y][x];
                now[y][x] = new[y][x];
            }
    }
}
