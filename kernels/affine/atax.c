/* A matrix and then its transpose times a vector, y = A' * (A * x). */

void atax(int M, int N, const double A[restrict M][N], const double x[restrict N],
          double y[restrict N])
{
    double tmp[M]; /* A * x */

#pragma scop
    for (int j = 0; j < N; j++)
        y[j] = 0;
    for (int i = 0; i < M; i++) {
        tmp[i] = 0;
        for (int j = 0; j < N; j++)
            tmp[i] += A[i][j] * x[j];
        for (int j = 0; j < N; j++)
            y[j] += A[i][j] * tmp[i];
    }
#pragma endscop
}
