/* Many tridiagonal systems of N equations by Thomas' algorithm, side by side. */

void thomas(int N, int M, const double a[restrict N][M], const double b[restrict N][M],
            const double c[restrict N][M], const double d[restrict N][M], double x[restrict N][M])
{
    double cp[N][M], dp[N][M];

    for (int j = 0; j < M; j++) {
        cp[0][j] = c[0][j] / b[0][j];
        dp[0][j] = d[0][j] / b[0][j];
    }
    for (int i = 1; i < N; i++)
        for (int j = 0; j < M; j++) {
            double m = 1.0 / (b[i][j] - a[i][j] * cp[i - 1][j]);
            cp[i][j] = c[i][j] * m;
            dp[i][j] = (d[i][j] - a[i][j] * dp[i - 1][j]) * m;
        }
    for (int j = 0; j < M; j++)
        x[N - 1][j] = dp[N - 1][j];
    for (int i = N - 2; i >= 0; i--)
        for (int j = 0; j < M; j++)
            x[i][j] = dp[i][j] - cp[i][j] * x[i + 1][j];
}
