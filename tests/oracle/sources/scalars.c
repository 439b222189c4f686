/* Variables of the function around: live after the region, or private to an iteration of it. */
#include <stdio.h>

#define N 100
static double A[N][N], B[N][N], C[N][N];

static void mv(int n, int m, double X[n][m], double *x, double *y)
{
    int i, j;
    #pragma scop
    for (i = 0; i < n; i++) {
        y[i] = 0;
        for (j = 0; j < m; j++)
            y[i] += X[i][j] * x[j];
    }
    #pragma endscop
}

int main(void)
{
    int i, j, k, best = -1;
    double alpha = 1.5, s, most = -1, total = 0;
    for (i = 0; i < N; i++)
        for (j = 0; j < N; j++) {
            A[i][j] = i * j % 7;
            B[i][j] = i + j % 5;
        }
#pragma scop
    for (i = 0; i < N; i++)
        for (j = 0; j < N; j++) {
            s = 0;
            for (k = 0; k < N; k++)
                s += A[i][k] * B[k][j];
            C[i][j] = alpha * s;
        }
#pragma endscop
    for (int t = 0; t < 3; t++) {
#pragma scop
        for (i = 0; i < N; i++) {
            total += C[i][t];
            if (C[i][t] > most) {
                most = C[i][t];
                best = i;
            }
        }
#pragma endscop
    }
    double x[N], y[N];
    for (i = 0; i < N; i++)
        x[i] = i;
    mv(N, N, C, x, y);
    mv(0, 0, C, x, y);
    for (i = 0; i < N; i++)
        printf("%.17g %.17g\n", y[i], C[i][3]);
    printf("%.17g %.17g %d\n", total, most, best);
    return 0;
}
