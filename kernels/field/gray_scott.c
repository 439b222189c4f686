/* T steps of Gray's and Scott's reaction and diffusion of two substances. */

#define LAPLACIAN(s) \
    ((s)[y - 1][x] + (s)[y + 1][x] + (s)[y][x - 1] + (s)[y][x + 1] - 4.0f * (s)[y][x])

void gray_scott(int T, int H, int W, float feed, float kill, float u[restrict H][W],
                float v[restrict H][W])
{
    float un[H][W], vn[H][W];

    for (int t = 0; t < T; t++) {
        for (int y = 1; y < H - 1; y++)
            for (int x = 1; x < W - 1; x++) {
                float uvv = u[y][x] * v[y][x] * v[y][x];
                un[y][x] = u[y][x] + 0.2f * LAPLACIAN(u) - uvv + feed * (1.0f - u[y][x]);
                vn[y][x] = v[y][x] + 0.1f * LAPLACIAN(v) + uvv - (feed + kill) * v[y][x];
            }
        for (int y = 1; y < H - 1; y++)
            for (int x = 1; x < W - 1; x++) {
                u[y][x] = un[y][x];
                v[y][x] = vn[y][x];
            }
    }
}
