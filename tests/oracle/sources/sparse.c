/* Loops that data bound, while, break, continue, indirect subscripts. */
#include <stdio.h>

#define NR 40
static int ptr[NR + 1], col[1000];
static double val[1000], x[NR], y[NR], w[NR][3];
static int mandel[20][30];

static void spmv(int n, const int *restrict rp, const int *restrict ci, const double *restrict v,
                 const double *restrict in, double *restrict out)
{
    int i, k;
#pragma scop
    for (i = 0; i < n; i++) {
        double sum = 0;
        for (k = rp[i]; k < rp[i + 1]; k++)
            sum += v[k] * in[ci[k]];
        out[i] = sum;
    }
#pragma endscop
}

int main(void)
{
    int i, j, n = NR, c = 0;
    for (i = 0; i < n; i++) {
        ptr[i] = c;
        for (j = 0; j < (i * 7) % 11; j++) {
            col[c] = (i + j * j) % n;
            val[c] = j + 1.5;
            c++;
        }
        x[i] = i;
    }
    ptr[n] = c;
    spmv(n, ptr, col, val, x, y);
    for (i = 0; i < n; i++)
        printf("%.17g\n", y[i]);
#pragma scop
    for (i = 0; i < NR; i++) {
        y[i] = 1;
        for (int k = ptr[i]; k < ptr[i + 1]; k++)
            y[i] += val[k] * x[col[k]];
    }
#pragma endscop
    for (i = 0; i < n; i++)
        printf("%.17g\n", y[i]);
#pragma scop
    for (i = 0; i < 20; i++)
        for (j = 0; j < 30; j++) {
            double cr = -2 + j * 0.1, ci = -1 + i * 0.1, zr = 0, zi = 0;
            int it = 0;
            while (zr * zr + zi * zi < 4 && it < 50) {
                double t = zr * zr - zi * zi + cr;
                zi = 2 * zr * zi + ci;
                zr = t;
                it++;
            }
            mandel[i][j] = it;
        }
#pragma endscop
    for (i = 0; i < 20; i++)
        for (j = 0; j < 30; j++)
            printf("%d\n", mandel[i][j]);
    double s0, s1, s2;
#pragma scop
    for (i = 0; i < NR; i++) {
        s0 = s1 = s2 = 0;
        for (int k = ptr[i]; k < ptr[i + 1]; k++) {
            int at = col[k];
            s0 += val[k] * x[at];
            s1 += val[k] + x[at];
            s2 += val[k] - x[at];
            w[at][0] += val[k] * x[i];
            w[at][2] += val[k] * x[i];
        }
        w[i][0] += s0;
        w[i][1] += s1;
        w[i][2] += s2;
    }
#pragma endscop
    for (i = 0; i < n; i++)
        printf("%.17g %.17g %.17g\n", w[i][0], w[i][1], w[i][2]);
    int hist[8] = {0}, found = -1;
#pragma scop
    for (i = 0; i < 1000; i++)
        hist[col[i] % 8]++;
    for (i = 0; i < NR; i++) {
        if (x[i] > 12.5) {
            found = i;
            break;
        }
    }
    for (i = 0; i < NR; i++) {
        if (y[i] < 100)
            continue;
        y[i] = x[col[i] % NR];
    }
    for (i = 0; i < NR; i++) {
        if (i > 3) {
            y[i] += 1;
            if (i > 30)
                continue;
        }
        if (i % 2 == 0) {
            y[i] += 2;
            continue;
        }
        if (i == 7)
            continue;
        y[i] += 4;
    }
#pragma endscop
    for (i = 0; i < 8; i++)
        printf("%d %d\n", hist[i], found);
    for (i = 0; i < n; i++)
        printf("%.17g\n", y[i]);
    return 0;
}
