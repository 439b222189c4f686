/* Macros for sizes, types and access; helper functions; enumerators; wrapping and strides. */
#include <stdio.h>
#include <math.h>
#include "sizes.h"

enum { M = 23, STEP = 5 };
static const int twice = 2;
static DATA_TYPE A[N][M], B[N][M];
static double tot[3];
static unsigned char img[N][M];
static unsigned u[64];

static double sq(double v) { return v * v; }
static double norm(const double *row, int n)
{
    double s = 0;
    for (int k = 0; k < n; k++)
        s += sq(row[k]);
    return SQRT_FUN(s);
}
static void scale(int n, double *row, double by)
{
    int k;
    for (k = 0; k < n; k++)
        row[k] *= by;
}
static void add(double *to, float half) { *to += half / 2; }

static void kernel(int n, int m, DATA_TYPE ARRAY_2D(X, N, M, n, m), DATA_TYPE ARRAY_2D(Y, N, M, n, m))
{
    int i;
#pragma scop
    for (i = 0; i < n; i++) {
        double r = norm(X[i], m);
        scale(m, Y[i], r + 1);
        add(&tot[1], 3);
    }
#pragma endscop
}

int main(void)
{
    int i, j;
#pragma scop
    for (i = N - 1; i >= 0; i--)
        for (j = 0; j < M; j += STEP) {
            if ((i + j) % 3 == 0)
                continue;
            A[i][j] = i * twice + SCALAR_VAL(0.5) + j;
        }
    for (int k = 0; k < 64; k++)
        u[k] = 3u * (unsigned)k - 17u;
    for (i = 0; i < N; i++)
        for (j = 0; j < M; j++) {
            img[i][j] = (unsigned char)(i * 31 + j * 17);
            if (img[i][j] > 100)
                B[i][j] = A[i][j] + 1;
            else {
                B[i][j] = 2;
                A[i][j] += .25;
            }
        }
#pragma endscop
    kernel(N, M, A, B);
    for (i = 0; i < N; i++)
        for (j = 0; j < M; j++)
            printf("%.17g %.17g %d\n", A[i][j], B[i][j], img[i][j]);
    for (i = 0; i < 64; i++)
        printf("%u\n", u[i]);
    printf("%g\n", tot[1]);
    return 0;
}
