/* Counters that loops step, before, in and after regions; remainder loops; scalars of several loops;
   continue in branches. */
#include <stddef.h>
#include <stdio.h>
#define N 80
static double x[N], y[N];
static int packed[N];
/* set and used in a region, of several types */
static void f(int n, unsigned m, int (*restrict v)[4]) {
  int i, j, k;
  unsigned u;
  size_t z;
#pragma scop
  k = 0;
  for (i = 0; i < n; i++)
    for (j = 0; j < 4; j++)
      packed[k++] = v[i][j] * 3;
#pragma endscop
#pragma scop
  u = m;
  z = 1;
  for (i = 0; i < n; i++) {
    u += 2;
    x[u] += y[z];
    z = z + 3;
  }
  x[z] = 1;
#pragma endscop
#pragma scop
  for (i = 0; i < n; i++) {
    k = 2 * i;
    for (j = n; j > 0; j -= 2) {
      y[k] += j;
      k++;
    }
  }
#pragma endscop
}
/* what was set before, and what is used after */
static int g(int n, int at, double *restrict p) {
  int i, k = at, last;
#pragma scop
  for (i = 0; i < n; i++)
    p[k--] += i;
#pragma endscop
#pragma scop
  last = 3;
  for (i = 0; i < n; i += 3) {
    p[last] *= 2;
    last += 2;
  }
#pragma endscop
  p[0] = last;
#pragma scop
  for (i = 0; i + 3 < n; i += 4) {
    p[i] += 1;
    p[i + 1] += 2;
    p[i + 2] += 3;
    p[i + 3] += 4;
  }
  for (; i < n; i++)
    p[i] -= 1;
#pragma endscop
  p[1] = i;
#pragma scop
  last = n % 5;
  for (i = 0; i < last; i++)
    p[i] *= 3;
  for (i = last; i < n; i += 5) {
    p[i] *= 5;
    p[i + 4] *= 7;
  }
#pragma endscop
  return i + last;
}
/* scalars of several loops, and what continue skips */
static void h(int n, double *restrict p, double *restrict q) {
  int i, row;
  double t, s;
#pragma scop
  for (i = 0; i < n; i++) {
    t = p[i];
    p[i] = q[i];
    q[i] = t;
  }
  for (i = 0; i < n; i++) {
    row = i + 1;
    t = p[row] * 2;
    s = t - 1;
    q[i] += s * t;
  }
  for (i = 0; i < n; i++) {
    row = n - i;
    q[row] = p[row] + row;
  }
#pragma endscop
#pragma scop
  for (i = 0; i < n; i++) {
    if (i > 3)
      p[i] += 1;
    else {
      q[i] = 0;
      continue;
    }
    if (p[i] > 4) {
      if (i % 3 == 0)
        continue;
      q[i] += 1;
    }
    q[i] *= 2;
  }
#pragma endscop
}
int main(void) {
  static int v[N / 4][4];
  for (int i = 0; i < N; i++) {
    x[i] = i;
    y[i] = i % 7;
    v[i / 4][i % 4] = i;
  }
  f(13, 5, v); f(1, 70, v); f(2, 0, v); f(0, 1, v);
  printf("%d\n", g(20, 40, x)); printf("%d\n", g(23, 60, x)); printf("%d\n", g(1, 2, y));
  printf("%d\n", g(0, 0, y)); printf("%d\n", g(3, 9, y)); printf("%d\n", g(4, 9, y));
  h(40, x, y); h(1, x, y); h(7, y, x);
  for (int i = 0; i < N; i++)
    printf("%g %g %d\n", x[i], y[i], packed[i]);
  return 0;
}
