/* T steps of diffusion in a box, with coefficients that differ from cell to cell, between two
   arrays in turn. */

void diffusion_3d(int T, int N, const float k[restrict N][N][N], float u[restrict N][N][N],
                  float v[restrict N][N][N])
{
    for (int t = 0; t < T; t++) {
        for (int z = 1; z < N - 1; z++)
            for (int y = 1; y < N - 1; y++)
                for (int x = 1; x < N - 1; x++)
                    v[z][y][x] = u[z][y][x] +
                                 k[z][y][x] * (u[z - 1][y][x] + u[z + 1][y][x] + u[z][y - 1][x] +
                                               u[z][y + 1][x] + u[z][y][x - 1] + u[z][y][x + 1] -
                                               6.0f * u[z][y][x]);
        for (int z = 1; z < N - 1; z++)
            for (int y = 1; y < N - 1; y++)
                for (int x = 1; x < N - 1; x++)
                    u[z][y][x] = v[z][y][x] +
                                 k[z][y][x] * (v[z - 1][y][x] + v[z + 1][y][x] + v[z][y - 1][x] +
                                               v[z][y + 1][x] + v[z][y][x - 1] + v[z][y][x + 1] -
                                               6.0f * v[z][y][x]);
    }
}
