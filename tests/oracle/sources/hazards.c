/* Code that is easily read wrong: guards, chains, jumps, narrowing, wrapping, names, aliases. */
#include <stdio.h>

#define N 50

struct box { int b_c; int n; int *data; };
struct inner { int c; };
typedef double row[N];
typedef double *place;

static int size = 5;
static int keys[N], divisors[N], counts[N], narrow[N];
static unsigned hashes[100];
static long wide[100], places[100];
static double a[N], b[N], c[N], folded[256 * 20];

static void start(void)
{
  for (int i = 0; i < N; i++) {
    keys[i] = i % 3 == 0 ? -1000000 : i / 2;
    divisors[i] = i % 3;
    counts[i] = i * 7;
    a[i] = i - 10;
    b[i] = -1;
    c[i] = 0.5 * i;
  }
}

static void show(const char *what)
{
  printf("%s\n", what);
  for (int i = 0; i < N; i++)
    printf("%d %d %d %g %g %g\n", keys[i], divisors[i], counts[i], a[i], b[i], c[i]);
}

/* two writes under one condition, the first of which changes it */
static void chain(void)
{
#pragma scop
  for (int i = 0; i < N; i++)
    if (a[i] > 0)
      b[i] = a[i] = 0;
#pragma endscop
}

/* what is computed under a condition may not exist elsewhere */
static void guarded(void)
{
#pragma scop
  for (int i = 0; i < N; i++) {
    if (keys[i] >= 0) {
      double t = c[keys[i]];
      a[i] += t;
      b[i] = t * t;
    }
    if (divisors[i] != 0) {
      int t = counts[i] / divisors[i];
      counts[i] += t;
      narrow[i] = t * t;
    }
  }
  for (int i = 0; i < N; i++)
    if (keys[i] >= 0) {
      if (c[keys[i]] > 5) {
        c[keys[i]] = 0;
        a[i] = 1;
      }
    }
  for (int i = 0; i < N; i++)
    if (divisors[i] != 0) {
      if (100 / divisors[i] > 70) {
        divisors[i] = 0;
        b[i] = 1;
      } else
        b[i] = 2;
    }
#pragma endscop
}

static void short_circuits(void)
{
#pragma scop
  for (int i = 0; i < N; i++) {
    if (keys[i] >= 0 && c[keys[i]] > 1)
      a[i] = 1;
    if (keys[i] < 0 || c[keys[i]] > 3)
      a[i] += 2;
    counts[i] = divisors[i] ? counts[i] / divisors[i] + counts[i] / divisors[i] * 2 : 0;
    b[i] = keys[i] >= 0 ? c[keys[i]] + c[keys[i]] * 2 : 0;
  }
#pragma endscop
}

/* folded subscripts through types that are too narrow, and names that change their meaning */
static void narrowed(int n, int m, double *restrict f)
{
#pragma scop
  for (int i = 0; i < n; i++)
    for (int j = 0; j < m; j++)
      f[(unsigned char)(i + 250) * m + j] += 1;
  for (int i = 0; i < n; i++) {
    unsigned char k = i + 240;
    for (int j = 0; j < m; j++)
      f[k * m + j] += 2;
  }
#pragma endscop
}

static void renamed(int n, int m, double *restrict f)
{
  int p;
#pragma scop
  for (int i = 0; i < n; i++) {
    p = i;
    int k = p;
    p = 0;
    for (int j = 0; j < m; j++)
      f[k * m + j] += p + 1;
  }
#pragma endscop
}

/* products and differences that wrap in 32 bits */
static void wrapped(unsigned n)
{
#pragma scop
  for (unsigned i = 0; i < n; i++) {
    hashes[i] = (i * 2654435761u) >> 26;
    wide[i] = i * 3000000000u;
    places[i] = i - 5;
    places[i] += (i - 5) / 2;
    if (i * 2654435761u < 1000000000u)
      hashes[i] += 10;
  }
  for (int i = 0; i < 100; i++)
    wide[i] += (int)(i * 10000000000L);
  for (int i = 0; i < 100; i++)
    hashes[(i * 2654435761u) >> 26] += 1;
#pragma endscop
}

/* values that are needed after a jump */
static void jumps(void)
{
  double s, t = 0;
  int again = 0;
  for (s = 0; s < 3000;) {
#pragma scop
    for (int i = 0; i < N; i++)
      s += c[i];
#pragma endscop
  }
  for (int r = 0; r < 5; r++) {
#pragma scop
    for (int i = 0; i < N; i++)
      t += c[i];
#pragma endscop
    if (r == 2)
      break;
    t = 1;
  }
  printf("%g %g\n", s, t);
  t = 0;
once_more:
  printf("%g\n", t);
#pragma scop
  for (int i = 0; i < N; i++)
    t += c[i];
#pragma endscop
  if (again++ < 3)
    goto once_more;
  t = 2;
  printf("%g\n", t);
}

/* paths and locals whose names could meet */
static void names(struct box *g, struct inner a_b)
{
  struct box a = {1, 2, keys};
#pragma scop
  for (int i = 0; i < N; i++) {
    int g_n = i;
    g->data[i] = g->n * 100 + g_n + a.b_c * 10000 + a_b.c * 1000;
  }
#pragma endscop
}

/* arguments that are pointers by name of type only */
static void typed(int n, row x, place y)
{
#pragma scop
  for (int i = 1; i < n; i++)
    x[i] = x[i - 1] * 0.5 + y[i - 1];
  for (int i = 0; i < n; i++)
    y[i] = x[i] + 1;
#pragma endscop
}

static void fill(double *v)
{
  for (int i = 0; i < size; i++)
    v[i] = size + i;
}

static void inlined(void)
{
#pragma scop
  fill(a);
  for (int i = 0; i < N; i++)
    a[i] += 100;
#pragma endscop
}

/* macros that the generated code has, too */
#define apart(a, b, c, d) 3
#define max_i64(a, b) 77
static void macros(int n, int m, double p[n], double q[m])
{
#pragma scop
  for (int i = 0; i < n; i++)
    for (int j = 0; j < m && j < i; j++)
      p[i] += q[j];
#pragma endscop
  printf("%d %d\n", apart(1, 2, 3, 4), max_i64(1, 2));
}

/* a product with a hole in the middle of each sum, whose order of additions has to stay */
static void hole(int n, double x[n][n], double y[n][n], double z[n][n])
{
#pragma scop
  for (int i = 0; i < n; i++)
    for (int j = 0; j < n; j++)
      for (int k = 0; k < n; k++)
        if (k != j)
          z[i][j] += x[i][k] * y[k][j];
#pragma endscop
}

int main(void)
{
  static double x[67][67], y[67][67], z[67][67];
  struct box g = {1, 3, counts};
  struct inner of = {7};
  start(), chain(), show("chain");
  start(), guarded(), show("guarded");
  start(), short_circuits(), show("short circuits");
  narrowed(20, 20, folded), renamed(40, 20, folded);
  for (int i = 0; i < 256 * 20; i++)
    if (folded[i] != 0)
      printf("%d %g\n", i, folded[i]);
  wrapped(100);
  for (int i = 0; i < 100; i++)
    printf("%u %ld %ld\n", hashes[i], wide[i], places[i]);
  start(), jumps();
  start(), names(&g, of), show("names");
  start(), typed(N - 10, a, a + 3), show("typed");
  start(), typed(N, b, c), show("typed apart");
  start(), inlined(), show("inlined");
  start(), macros(N, 20, a, c), show("macros");
  for (int i = 0; i < 67 * 67; i++)
    x[i / 67][i % 67] = 1.0 / (1 + i % 13), y[i / 67][i % 67] = 1.0 / (1 + i % 11);
  hole(67, x, y, z);
  for (int i = 0; i < 67; i++)
    for (int j = 0; j < 67; j++)
      printf("%a\n", z[i][j]);
  return 0;
}
