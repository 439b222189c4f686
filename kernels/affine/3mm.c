/* Three matrix products, E = A * B, F = C * D and G = E * F. */

void mm3(int M, int N, int K, int L, int P, const double A[restrict M][K],
         const double B[restrict K][N], const double C[restrict N][P],
         const double D[restrict P][L], double E[restrict M][N], double F[restrict N][L],
         double G[restrict M][L])
{
#pragma scop
    for (int i = 0; i < M; i++)
        for (int j = 0; j < N; j++) {
            E[i][j] = 0;
            for (int k = 0; k < K; k++)
                E[i][j] += A[i][k] * B[k][j];
        }
    for (int i = 0; i < N; i++)
        for (int j = 0; j < L; j++) {
            F[i][j] = 0;
            for (int k = 0; k < P; k++)
                F[i][j] += C[i][k] * D[k][j];
        }
    for (int i = 0; i < M; i++)
        for (int j = 0; j < L; j++) {
            G[i][j] = 0;
            for (int k = 0; k < N; k++)
                G[i][j] += E[i][k] * F[k][j];
        }
#pragma endscop
}
