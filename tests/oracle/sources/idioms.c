/* Forms of C that say the same as plainer ones, and variables whose uses have to be told apart. */
#include <stdio.h>

#define C2 9
const char *text = "one \
two // no comment \
three";
static double lin[C2*C2], wide[2*C2 + 1];
static float a[200], b[200], m[12][10];

static float next(x)
    float x;
{
    return x + 1;
}

static void classic(n, from, to)
    int n;
    const float *from;
    float *to;
{
#  pragma   scop
    for (int i = 0; i < n; i++)
        to[i] += next(from[i]);
#  pragma endscop
}

static void raise(int n, float *x) { for (int i = 0; i < n; i++) x[i] += 1; }
static void twice(int n, float x[n]) { raise(n - 1, x + 1); for (int i = 0; i < n; i++) x[i] *= 2; }
static void one(float *x) { *x += 3; }
static float sum(int n, const float *x)
{
    float s = 0;
    for (int i = 0; i < n; i++)
        s += *(x + i);
    return s;
}

static void pointers(int n, int k, float *restrict s)
{
#pragma scop
    raise(10, &a[5]);
    twice(10, a + 100);
    one(&a[7]);
    raise(k, &a[n]);
    for (int i = 0; i < 12; i++) {
        raise(10, m[i]);
        raise(8, &m[i][1]);
        s[i] = sum(10, m[i]) + sum(3, m[i] + 4);
    }
#pragma endscop
}

static void branches(int n)
{
    float t, u;
    int i, j;
#pragma scop
    for (i = 0; i < n; i++) {
        if (a[i] > 4) {
            t = a[i] * 2;
            b[i] = t + 1;
        }
    }
    for (i = 0; i < 12; i++)
        for (j = 0; j < 10; j++) {
            if (m[i][j] > 30) {
                u = m[i][j] / 3;
                m[i][j] = u * u;
            } else if (m[i][j] < 25) {
                u = m[i][j] - 2;
                m[i][j] = u + i;
            }
        }
#pragma endscop
}

static int hidden(int n)
{
    int i = 5;
#pragma scop
    for (int i = 0; i < n; i++)
        b[i] += i;
    for (int j = 0; j < n; j++) {
        b[j] += i;
        { float a = b[j]; b[j] = a * 2; }
        b[j] -= a[j];
    }
#pragma endscop
    return i;
}

static int starts(int n)
{
    int i = 2, j, k;
#pragma scop
first:
    for (; i < n; i++)
        a[i] += i;
    j = 1;
    for (; j < n; ++j) {
second:
        b[j] += j;
    }
    for (int c = 0; c < 3; c++) {
        int l = c;
        for (; l < n; l++)
            b[l] -= a[l];
    }
#pragma endscop
    for (k = 0, i = 7; k < 3; k++)
        i += k;
    return i;
}

static float again(int n)
{
    int i, k = 0;
    float t, left = 0, step = 0;
    do {
#pragma scop
        left = 0;
        for (i = 0; i < n; i += 2) {
            t = a[i] * 0.5f;
            a[i] = t;
            left += t;
        }
#pragma endscop
        switch (k) {
        case 3: i = 1; break;
        default: i = 2;
        }
        k += i;
    } while (left > 1);
    for (k = 0; k < 4; left += step, k++) {
        step = 0;
#pragma scop
        for (i = 0; i < n; i += 3)
            step += b[i];
#pragma endscop
    }
    return left;
}

static void products(int n, int l, double x[n*l], double y[n*n])
{
#pragma scop
    for (int i = 0; i < C2; i++)
        for (int j = 0; j < C2; j++)
            lin[i * C2 + j] += wide[i + j];
    for (int i = 0; i < n; i++)
        for (int j = 0; j < l; j++)
            x[i * l + j] += lin[i + j];
    for (int i = 0; i < n; i++)
        y[i] = i;
#pragma endscop
}

int main(void)
{
    float s[12];
    double x[8 * 7], y[64];
    for (int i = 0; i < 200; i++) {
        a[i] = i % 11;
        b[i] = i % 7 - 3;
    }
    for (int i = 0; i < 120; i++)
        m[i / 10][i % 10] = i % 37;
    for (int i = 0; i < 2 * C2 + 1; i++)
        wide[i] = i * i;
    for (int i = 0; i < 56; i++)
        x[i] = i;
    classic(90, a, b);
    pointers(150, 20, s);
    branches(60);
    printf("%d %d %s\n", hidden(70), starts(50), text);
    printf("%.9g\n", again(120));
    products(8, 7, x, y);
    for (int i = 0; i < 200; i++)
        printf("%.9g %.9g\n", a[i], b[i]);
    for (int i = 0; i < 120; i++)
        printf("%.9g\n", m[i / 10][i % 10]);
    for (int i = 0; i < 12; i++)
        printf("%.9g\n", s[i]);
    for (int i = 0; i < 56; i++)
        printf("%.17g %.17g %.17g\n", x[i], y[i % 8], lin[i]);
    return 0;
}
