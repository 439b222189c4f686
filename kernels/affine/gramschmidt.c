/* QR factors of a matrix with N columns and E more rows, by the modified Gram-Schmidt process. What
   is left of A's columns stands in their place. */

#include <math.h>

void gramschmidt(int N, int E, double A[restrict N + E][N], double R[restrict N][N],
                 double Q[restrict N + E][N])
{
#pragma scop
    for (int k = 0; k < N; k++) {
        double norm = 0;
        for (int i = 0; i < N + E; i++)
            norm += A[i][k] * A[i][k];
        R[k][k] = sqrt(norm);
        for (int i = 0; i < N + E; i++)
            Q[i][k] = A[i][k] / R[k][k];
        for (int j = k + 1; j < N; j++) {
            R[k][j] = 0;
            for (int i = 0; i < N + E; i++)
                R[k][j] += Q[i][k] * A[i][j];
            for (int i = 0; i < N + E; i++)
                A[i][j] -= Q[i][k] * R[k][j];
        }
    }
#pragma endscop
}
