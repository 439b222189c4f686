/* Loops whose test steps their iterator, upwards, downwards, without a sign, and to no iteration. */
#include <stddef.h>
#include <stdio.h>
#define N 40
static double A[N][N], x[N], y[N];
static void f(int n, unsigned m, size_t k, double *restrict p) {
  int i, j;
  unsigned u;
#pragma scop
  for (i = n; i-- > 1;)
    p[i] = p[i] * 2 + i;
#pragma endscop
#pragma scop
  for (size_t q = k; q--;)
    p[q] += q;
#pragma endscop
#pragma scop
  for (i = n; --i >= 0;)
    for (j = -1; ++j < i;)
      A[i][j] = A[i][j] * .5 + p[j];
#pragma endscop
#pragma scop
  for (u = m; u-- != 0;)
    p[u] -= 1;
  for (u = m; --u > 0;)
    p[u] -= 1;
#pragma endscop
#pragma scop
  for (i = 0; i++ < n - 1;)
    p[i] = p[i - 1] + 1;
#pragma endscop
#pragma scop
  for (i = n; i--;)
    p[i] -= 1;
#pragma endscop
}
/* what the iterator is afterwards */
static void g(int n, int m, double *restrict p) {
  int i;
  unsigned u, k = n;
  signed char c;
#pragma scop
  for (i = n; i-- > m;)
    p[i] -= 1;
#pragma endscop
  p[0] = i;
#pragma scop
  for (i = n; i--;)
    p[i] -= 1;
#pragma endscop
  p[1] = i;
#pragma scop
  for (u = k; u-- > 0;)
    p[u] *= 1.5;
#pragma endscop
  p[2] = u;
#pragma scop
  for (i = n; m < --i;)
    p[i] += 1;
#pragma endscop
  p[3] = i;
#pragma scop
  for (i = 0; i++ <= n;)
    p[i] += 1;
#pragma endscop
  p[4] = i;
#pragma scop
  for (c = 5; c-- > -10;)
    p[c + 20] += 1;
#pragma endscop
  p[5] = c;
}
int main(void) {
  for (int i = 0; i < N; i++) {
    x[i] = i;
    for (int j = 0; j < N; j++) A[i][j] = i - j;
  }
  f(30, 40, 17, x); f(1, 1, 1, y); f(0, 1, 0, y); f(2, 3, 0, y); f(40, 5, 40, y);
  g(20, 3, x); g(3, 3, x); g(2, 5, y); g(0, 0, y); g(38, 0, y);
  for (int i = 0; i < N; i++) {
    printf("%g %g\n", x[i], y[i]);
    for (int j = 0; j < N; j++) printf("%g\n", A[i][j]);
  }
  return 0;
}
