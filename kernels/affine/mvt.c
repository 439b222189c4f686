/* A matrix and its transpose times a vector each, x1 += A * y1 and x2 += A' * y2. */

void mvt(int N, const double A[restrict N][N], double x1[restrict N], double x2[restrict N],
         const double y1[restrict N], const double y2[restrict N])
{
#pragma scop
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++)
            x1[i] += A[i][j] * y1[j];
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++)
            x2[i] += A[j][i] * y2[j];
#pragma endscop
}
