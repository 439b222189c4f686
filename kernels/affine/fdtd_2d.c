/* T steps of finite differences in the time domain on a grid: the electric field (ex, ey), driven
   from its upper edge, and the magnetic field hz. */

void fdtd_2d(int T, int X, int Y, double ex[restrict X][Y], double ey[restrict X][Y],
             double hz[restrict X][Y], const double source[restrict T])
{
#pragma scop
    for (int t = 0; t < T; t++) {
        for (int j = 0; j < Y; j++)
            ey[0][j] = source[t];
        for (int i = 1; i < X; i++)
            for (int j = 0; j < Y; j++)
                ey[i][j] -= 0.5 * (hz[i][j] - hz[i - 1][j]);
        for (int i = 0; i < X; i++)
            for (int j = 1; j < Y; j++)
                ex[i][j] -= 0.5 * (hz[i][j] - hz[i][j - 1]);
        for (int i = 0; i < X - 1; i++)
            for (int j = 0; j < Y - 1; j++)
                hz[i][j] -= 0.7 * (ex[i][j + 1] - ex[i][j] + ey[i + 1][j] - ey[i][j]);
    }
#pragma endscop
}
