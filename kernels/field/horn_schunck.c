/* One iteration of Horn's and Schunck's optical flow: the mean of the velocities around each pixel,
   corrected by what the derivatives ix, iy, it of the brightness say. */

void horn_schunck(int H, int W, float alpha, const float ix[restrict H][W],
                  const float iy[restrict H][W], const float it[restrict H][W],
                  const float u[restrict H][W], const float v[restrict H][W],
                  float u_next[restrict H][W], float v_next[restrict H][W])
{
    for (int y = 1; y < H - 1; y++)
        for (int x = 1; x < W - 1; x++) {
            float u_mean = (u[y - 1][x] + u[y][x + 1] + u[y + 1][x] + u[y][x - 1]) / 6 +
                           (u[y - 1][x - 1] + u[y - 1][x + 1] + u[y + 1][x + 1] +
                            u[y + 1][x - 1]) / 12;
            float v_mean = (v[y - 1][x] + v[y][x + 1] + v[y + 1][x] + v[y][x - 1]) / 6 +
                           (v[y - 1][x - 1] + v[y - 1][x + 1] + v[y + 1][x + 1] +
                            v[y + 1][x - 1]) / 12;
            float p = ix[y][x] * u_mean + iy[y][x] * v_mean + it[y][x];
            float d = alpha * alpha + ix[y][x] * ix[y][x] + iy[y][x] * iy[y][x];
            u_next[y][x] = u_mean - ix[y][x] * p / d;
            v_next[y][x] = v_mean - iy[y][x] * p / d;
        }
}
