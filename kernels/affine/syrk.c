/* Symmetric update of rank K, C = alpha * A * A' + beta * C, of the lower triangle of C. */

void syrk(int N, int K, double alpha, double beta, const double A[restrict N][K],
          double C[restrict N][N])
{
#pragma scop
    for (int i = 0; i < N; i++) {
        for (int j = 0; j <= i; j++)
            C[i][j] *= beta;
        for (int k = 0; k < K; k++)
            for (int j = 0; j <= i; j++)
                C[i][j] += alpha * A[i][k] * A[j][k];
    }
#pragma endscop
}
