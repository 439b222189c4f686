/* Yee's scheme for the mode TM in a cavity with perfectly conducting walls, coefficients per
   cell and a source in one cell. */

void fdtd_tm(int T, int N, const double ca[restrict N][N], const double cb[restrict N][N],
             const double pulse[restrict T], double ez[restrict N][N], double hx[restrict N][N - 1],
             double hy[restrict N - 1][N])
{
    for (int t = 0; t < T; t++) {
        for (int i = 0; i < N; i++)
            for (int j = 0; j < N - 1; j++)
                hx[i][j] = hx[i][j] - 0.5 * (ez[i][j + 1] - ez[i][j]);
        for (int i = 0; i < N - 1; i++)
            for (int j = 0; j < N; j++)
                hy[i][j] = hy[i][j] + 0.5 * (ez[i + 1][j] - ez[i][j]);
        for (int i = 1; i < N - 1; i++)
            for (int j = 1; j < N - 1; j++)
                ez[i][j] = ca[i][j] * ez[i][j] +
                           cb[i][j] * (hy[i][j] - hy[i - 1][j] - hx[i][j] + hx[i][j - 1]);
        ez[N / 2][N / 2] += pulse[t];
    }
}
