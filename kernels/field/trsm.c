/* A lower triangular system with many right-hand sides, in place of these. */

void trsm(int N, int M, const double L[restrict N][N], double B[restrict N][M])
{
    for (int i = 0; i < N; i++) {
        for (int k = 0; k < i; k++)
            for (int j = 0; j < M; j++)
                B[i][j] -= L[i][k] * B[k][j];
        for (int j = 0; j < M; j++)
            B[i][j] /= L[i][i];
    }
}
