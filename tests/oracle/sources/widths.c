/* What loops leave of 64-bit iterators as literals, and 32-bit sizes at the ends of their type. */
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#define N 6

static void single(int n, const int32_t u[n], const uint32_t v[n], int64_t y[n], double z[n])
{
#pragma scop
    for (int i = 0; i < n; i++)
        for (long k = 3; k < 4; k++) {
            y[i] = u[i] * k;
            z[i] = (v[i] - k) * 0.5;
        }
#pragma endscop
}

static void kinds(const int8_t a[N], const uint16_t b[N], const int32_t c[N], const uint32_t d[N],
                  const uint64_t e[N], int64_t y[N][12])
{
#pragma scop
    for (int i = 0; i < N; i++) {
        for (long k = 1; k < 4; k++) {
            y[i][k] = c[i] * k + (d[i] - k);
            y[i][k + 3] = (b[i] * k) << 16;
        }
        for (unsigned char k = 200; k < 203; k++)
            y[i][k - 193] = a[i] < k ? d[i] - k : c[i] / (k - 199);
        for (unsigned long k = 2; k < 4; k++)
            y[i][k + 8] = (int64_t)((c[i] - k) / 3 + (a[i] < k) + e[i] % k);
    }
#pragma endscop
}

static void guarded(int n, const uint32_t d[n], const int32_t c[n], int64_t y[n])
{
#pragma scop
    for (long i = 0; i < n; i++)
        y[i] = i == 2 ? (int64_t)d[i] - i : i < 2 ? c[i] * (i + 1) : d[i] - i;
#pragma endscop
}

static void reduced(int n, const uint32_t d[n], int64_t y[n])
{
#pragma scop
    for (int i = 0; i < n; i++) {
        y[i] = 0;
        for (long k = 1; k < 4; k++)
            y[i] += d[i] - (d[i] < k ? k : -k);
    }
#pragma endscop
}

static void ends(int lo, int hi, int shift, double x[8], double y[8])
{
#pragma scop
    for (int i = lo; i < hi; i++)
        y[i - lo] = 2.0 * x[i - lo] + shift;
    for (int i = lo; i < hi; i++)
        x[i - lo] = y[hi - 1 - i];
#pragma endscop
}

static void steps(int s, int T, int n, double a[n], double b[n])
{
#pragma scop
    for (int t = s; t < T; t++) {
        for (int i = 1; i < n - 1; i++)
            b[i] = 0.33 * (a[i - 1] + a[i] + a[i + 1]);
        for (int i = 1; i < n - 1; i++)
            a[i] = 0.33 * (b[i - 1] + b[i] + b[i + 1]);
    }
#pragma endscop
}

int main(void)
{
    int32_t c[N] = {INT32_MAX, INT32_MIN, -1, 0, 7, 1431655765};
    uint32_t d[N] = {UINT32_MAX, 0, 1, 2, 2147483648u, 77};
    int8_t a[N] = {-128, 127, -1, 0, 1, 100};
    uint16_t b[N] = {65535, 0, 1, 32768, 255, 43690};
    uint64_t e[N] = {UINT64_MAX, 0, 1, (uint64_t)1 << 63, 99, 12345678901u};
    int64_t y[N], w[N][12];
    double z[N];
    memset(w, 0, sizeof w);
    single(N, c, d, y, z);
    for (int i = 0; i < N; i++) printf("%ld %.17g\n", (long)y[i], z[i]);
    kinds(a, b, c, d, e, w);
    for (int i = 0; i < N; i++) for (int k = 0; k < 12; k++) printf("%ld%c", (long)w[i][k], k < 11 ? ' ' : '\n');
    guarded(N, d, c, y);
    for (int i = 0; i < N; i++) printf("%ld\n", (long)y[i]);
    reduced(N, d, y);
    for (int i = 0; i < N; i++) printf("%ld\n", (long)y[i]);
    const int los[] = {INT_MAX - 5, INT_MIN, -3, INT_MIN + 3};
    for (int k = 0; k < 4; k++) {
        double p[8] = {1, 2, 3, 4, 5, 6, 7, 8}, q[8] = {0};
        ends(los[k], los[k] + 5, INT_MAX, p, q);
        for (int i = 0; i < 8; i++) printf("%g %g\n", p[i], q[i]);
    }
    double p[8] = {1, 2, 3, 4, 5, 6, 7, 8}, q[8] = {0};
    ends(INT_MAX, INT_MIN, 0, p, q);
    steps(INT_MAX - 3, INT_MAX, 8, p, q);
    steps(INT_MAX, INT_MIN, INT_MIN + 1, p, q);
    steps(INT_MIN, INT_MIN + 2, 8, p, q);
    steps(-1, 2, 8, p, q);
    for (int i = 0; i < 8; i++) printf("%.17g %.17g\n", p[i], q[i]);
    return 0;
}
