/* Struct members, pointers, folded arrays. */
#include <stdio.h>
#include <stdlib.h>

typedef struct {
    int rows, cols;
    double *data;
} matrix;
struct point {
    double x, y;
    float w[3];
};
static struct point pts[50];

void axpy(matrix *m, double a, matrix const *o)
{
#pragma scop
    for (int i = 0; i < m->rows; i++)
        for (int j = 0; j < m->cols; j++)
            m->data[i * m->cols + j] += a * o->data[i * m->cols + j];
#pragma endscop
}

void smooth(int n, int m, double *A, double *B)
{
#pragma scop
    for (int i = 1; i < n - 1; i++)
        for (int j = 1; j < m - 1; j++)
            B[i * m + j] = (A[(i - 1) * m + j] + A[(i + 1) * m + j] + A[i * m + j - 1]
                            + A[m * i + (j + 1)]) / 4;
#pragma endscop
}

void volume(int n, int m, int l, float *A, const float *B)
{
    int i, j, k;
#pragma scop
    for (i = 0; i < n; i++)
        for (j = 0; j < m; j++)
            for (k = 0; k < l; k++) {
                int idx = (i * m + j) * l + k;
                A[idx] = 2 * B[idx] + i;
            }
#pragma endscop
}

int main(void)
{
    matrix a = {7, 9, malloc(63 * sizeof(double))}, b = {7, 9, malloc(63 * sizeof(double))};
    float *u = malloc(210 * sizeof(float)), *v = malloc(210 * sizeof(float));
    for (int i = 0; i < 63; i++)
        a.data[i] = i, b.data[i] = i % 5;
    axpy(&a, 2.5, &b);
    axpy(&a, 2.5, &a); /* the two overlap: the source's own loops run */
    smooth(7, 9, a.data, b.data);
    smooth(7, 9, a.data, a.data);
    smooth(1, 0, a.data, b.data); /* nothing runs */
    for (int i = 0; i < 63; i++)
        printf("%.17g %.17g\n", a.data[i], b.data[i]);
#pragma scop
    for (int i = 0; i < 50; i++) {
        pts[i].x = i * 0.5;
        (*(pts + i)).y = pts[i].x * 2;
        for (int k = 0; k < 3; k++)
            pts[i].w[k] = pts[i].y + k;
    }
#pragma endscop
    for (int i = 0; i < 50; i++)
        printf("%g %g %g\n", pts[i].x, pts[i].y, pts[i].w[2]);
    for (int i = 0; i < 210; i++)
        v[i] = i % 13;
    volume(5, 6, 7, u, v);
    for (int i = 0; i < 210; i++)
        printf("%g\n", u[i]);
    free(a.data), free(b.data), free(u), free(v);
    return 0;
}
