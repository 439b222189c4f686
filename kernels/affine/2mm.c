/* Two matrix products, tmp = alpha * A * B and D = tmp * C + beta * D. */

void mm2(int M, int N, int K, int L, double alpha, double beta, const double A[restrict M][K],
         const double B[restrict K][N], const double C[restrict N][L], double D[restrict M][L],
         double tmp[restrict M][N])
{
#pragma scop
    for (int i = 0; i < M; i++)
        for (int j = 0; j < N; j++) {
            tmp[i][j] = 0;
            for (int k = 0; k < K; k++)
                tmp[i][j] += alpha * A[i][k] * B[k][j];
        }
    for (int i = 0; i < M; i++)
        for (int j = 0; j < L; j++) {
            D[i][j] *= beta;
            for (int k = 0; k < N; k++)
                D[i][j] += tmp[i][k] * C[k][j];
        }
#pragma endscop
}
