/* A step of conjugate gradients on the five-point Laplacian: A p, the step along p, the
   residual, and the next direction, all in place. */

void cg_step(int N, double p[restrict N][N], double r[restrict N][N], double x[restrict N][N],
             double rr[restrict 1])
{
    double q[N][N];
    double pq = 0.0, next = 0.0;

    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++) {
            double v = 4.0 * p[i][j];
            if (i > 0)
                v -= p[i - 1][j];
            if (i < N - 1)
                v -= p[i + 1][j];
            if (j > 0)
                v -= p[i][j - 1];
            if (j < N - 1)
                v -= p[i][j + 1];
            q[i][j] = v;
        }
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++)
            pq += p[i][j] * q[i][j];
    double alpha = rr[0] / pq;
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++) {
            x[i][j] += alpha * p[i][j];
            r[i][j] -= alpha * q[i][j];
        }
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++)
            next += r[i][j] * r[i][j];
    double beta = next / rr[0];
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++)
            p[i][j] = r[i][j] + beta * p[i][j];
    rr[0] = next;
}
