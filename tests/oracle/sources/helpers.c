/* Helpers as applications write them: they read globals and arrays, return early, and take
   enumerations; loops whose iterator is used after them. */
#include <math.h>
#include <stdio.h>

#define N 53

enum mode { LOW = 3, HIGH = 1 << 4, BOTH = LOW | HIGH };
typedef enum { NEAR = -1, HERE, AWAY } side;
typedef struct { double gain, offset; unsigned count; } knob;

static double scale = 1.5, table[N];
static knob knobs[2] = {{0.5, 2, 0}, {-1.25, 0.75, 0}};
static unsigned hits;

static double scaled(double v) { return v * scale; }
static double at(const double *a, int i) { return a[i] + table[i]; }
static double through(double v, int k) { return v * knobs[k].gain + knobs[k].offset; }
static double clamp(double x, double lo, double hi)
{
    if (x < lo)
        return lo;
    if (x > hi)
        return hi;
    return x;
}
static float sign(double x)
{
    if (x < 0) return -1;
    else if (x > 0) return 1;
    return 0;
}
static double soft(double x, double t)
{
    double m = fabs(x) - t;
    if (m < 0)
        return 0;
    if (x > 0) {
        double y = m * 2;
        return y;
    }
    m = m * 3;
    return -m;
}
static void put(double *p, double v, int on)
{
    if (!on)
        return;
    *p = v;
    hits++;
}
static int pick(enum mode m, int a, int b) { return m == LOW ? a : b; }
static side side_of(double x)
{
    if (x < -0.5)
        return NEAR;
    return x > 0.5 ? AWAY : HERE;
}
static long narrow(double x)
{
    if (x > 0)
        return 2.75 * x;
    return (int)x;
}

static int mixed(int n, enum mode m, const double *restrict a, double *restrict b, int *restrict c)
{
    int i, k;
#pragma scop
    for (i = 0; i < n; i++) {
        b[i] = scaled(at(a, i)) + sign(a[i]) * soft(a[i], 0.3);
        put(&b[i], -7, m == HIGH);
        c[i] = pick(m, i, 2 * i) + (a[i] > 0 ? (int)scaled(a[i]) : 0);
    }
    for (k = n - 1; k >= 2; k--)
        b[k] += 0.5 * b[k - 1];
#pragma endscop
    return i + 1000 * k;
}

static unsigned sides(unsigned n, const double *restrict a, side *restrict s, double *restrict d)
{
    unsigned u;
    long v = 5;
#pragma scop
    for (u = 0; u < n; ++u) {
        s[u] = side_of(a[u]);
        d[u] = through(clamp(a[u], -0.25, 0.25), 1) + s[u];
    }
    for (v = 3; v <= (long)n; v += 1)
        d[v - 1] += narrow(d[v - 2]);
#pragma endscop
    return u + 100 * (unsigned)v;
}

static int never(int lo, int hi, double *restrict d)
{
    int i = 77;
#pragma scop
    for (i = lo; i < hi; i++)
        d[i] = d[i] * 0.5 - 1;
#pragma endscop
    return i;
}

int main(void)
{
    static double a[N], b[N], d[N];
    static int c[N];
    static side s[N];
    for (int i = 0; i < N; i++) {
        a[i] = ((i * 37) % 41 - 20) / 16.0;
        table[i] = (i % 11) / 8.0;
    }
    enum mode modes[3] = {LOW, HIGH, BOTH};
    for (int n = 0; n <= N; n += 13) {
        printf("%d %u\n", mixed(n, modes[n % 3], a, b, c), hits);
        printf("%u\n", sides(n, a, s, d));
        printf("%d %d\n", never(2, n - 20, d), never(n - 3 > 0 ? n - 3 : 0, n, d));
        for (int i = 0; i < n; i++)
            printf("%a %d %d %a\n", b[i], c[i], (int)s[i], d[i]);
    }
    return 0;
}
