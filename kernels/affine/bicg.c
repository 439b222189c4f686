/* The two products of the biconjugate gradient method, s = A' * r and q = A * p. */

void bicg(int M, int N, const double A[restrict M][N], const double p[restrict N],
          const double r[restrict M], double q[restrict M], double s[restrict N])
{
#pragma scop
    for (int j = 0; j < N; j++)
        s[j] = 0;
    for (int i = 0; i < M; i++) {
        q[i] = 0;
        for (int j = 0; j < N; j++) {
            s[j] += r[i] * A[i][j];
            q[i] += A[i][j] * p[j];
        }
    }
#pragma endscop
}
