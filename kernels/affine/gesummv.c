/* The sum of two matrix-vector products, y = alpha * A * x + beta * B * x. */

void gesummv(int N, double alpha, double beta, const double A[restrict N][N],
             const double B[restrict N][N], const double x[restrict N], double y[restrict N])
{
    double tmp[N]; /* A * x */

#pragma scop
    for (int i = 0; i < N; i++) {
        tmp[i] = 0;
        y[i] = 0;
        for (int j = 0; j < N; j++) {
            tmp[i] += A[i][j] * x[j];
            y[i] += B[i][j] * x[j];
        }
        y[i] = alpha * tmp[i] + beta * y[i];
    }
#pragma endscop
}
