/* Sweeps of successive over-relaxation for Poisson's equation, in place. */

void sor(int T, int N, double omega, double h2, const double f[restrict N][N],
         double u[restrict N][N])
{
    for (int t = 0; t < T; t++)
        for (int i = 1; i < N - 1; i++)
            for (int j = 1; j < N - 1; j++) {
                double residual = 0.25 * (u[i - 1][j] + u[i + 1][j] + u[i][j - 1] + u[i][j + 1] -
                                          h2 * f[i][j]) - u[i][j];
                u[i][j] += omega * residual;
            }
}
