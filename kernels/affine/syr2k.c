/* Symmetric update of rank 2 K, C = alpha * (A * B' + B * A') + beta * C, of the lower triangle of
   C. */

void syr2k(int N, int K, double alpha, double beta, const double A[restrict N][K],
           const double B[restrict N][K], double C[restrict N][N])
{
#pragma scop
    for (int i = 0; i < N; i++) {
        for (int j = 0; j <= i; j++)
            C[i][j] *= beta;
        for (int k = 0; k < K; k++)
            for (int j = 0; j <= i; j++)
                C[i][j] += A[j][k] * alpha * B[i][k] + B[j][k] * alpha * A[i][k];
    }
#pragma endscop
}
