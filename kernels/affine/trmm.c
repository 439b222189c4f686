/* Product with a triangular matrix, B = alpha * A' * B in place. A is lower triangular with ones on
   the diagonal; only what is below it is read. */

void trmm(int M, int N, double alpha, const double A[restrict M][M], double B[restrict M][N])
{
#pragma scop
    for (int i = 0; i < M; i++)
        for (int j = 0; j < N; j++) {
            for (int k = i + 1; k < M; k++)
                B[i][j] += A[k][i] * B[k][j];
            B[i][j] = alpha * B[i][j];
        }
#pragma endscop
}
