/* Product with a symmetric matrix, C = alpha * A * B + beta * C. Only the lower triangle of A is
   read: each of its elements serves two rows of C. */

void symm(int M, int N, double alpha, double beta, const double A[restrict M][M],
          const double B[restrict M][N], double C[restrict M][N])
{
#pragma scop
    for (int i = 0; i < M; i++)
        for (int j = 0; j < N; j++) {
            double above = 0; /* row i times what stands for the upper triangle */
            for (int k = 0; k < i; k++) {
                C[k][j] += alpha * B[i][j] * A[i][k];
                above += B[k][j] * A[i][k];
            }
            C[i][j] = beta * C[i][j] + alpha * B[i][j] * A[i][i] + alpha * above;
        }
#pragma endscop
}
