/* Matrix product, C = alpha * A * B + beta * C. */

void gemm(int M, int N, int K, float alpha, float beta,
          const float A[restrict M][K], const float B[restrict K][N], float C[restrict M][N])
{
#pragma scop
    for (int i = 0; i < M; i++) {
        for (int j = 0; j < N; j++)
            C[i][j] *= beta;
        for (int k = 0; k < K; k++)
            for (int j = 0; j < N; j++)
                C[i][j] += alpha * A[i][k] * B[k][j];
    }
#pragma endscop
}
