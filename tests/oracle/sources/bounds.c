/* Sizes that are known when the program runs: bounds below extents, empty loops, changing sizes. */
#include <stdio.h>
#define N 20
static double A[N][N], x[N], y[N];
static void f(int n, double (*p)[N], double *q, int m) {
  int i, j;
  double *r = q + 1;
#pragma scop
  for (i = 0; i < n; i++)
    for (j = 0; j < m; j++)
      p[i][j] = r[j] + p[i][j];
#pragma endscop
  n--;
  while (n > 0) {
#pragma scop
    for (i = 0; i < n; i++)
      q[i] += n * 0.5;
    q[n] = 1;
#pragma endscop
    n -= 5;
  }
}
static void g(int n, int k, double a[n], int lo, int hi) {
#pragma scop
  for (int i = lo; i < hi; i++)
    a[i] = k;
  if (k > 3)
    for (int i = 0; i < n; i += 4)
      a[i] = -a[i];
  else
    a[0] = k;
  for (int t = 0; t < k; t++)
    for (int i = 1; i < n - 1; i++)
      a[i] = (a[i - 1] + a[i + 1]) * 0.5;
#pragma endscop
}
int main(void) {
  for (int i = 0; i < N; i++) { x[i] = i; for (int j = 0; j < N; j++) A[i][j] = i ^ j; }
  f(7, A, x, 9); f(19, A, A[3], 15); f(0, A, x, 3);
  g(N, 5, x, 3, 12); g(N, 2, y, 0, N); g(N, 2, x, 5, 2); g(N, 0, x, -3, -5);
  for (int i = 0; i < N; i++) { printf("%g %g\n", x[i], y[i]); for (int j = 0; j < N; j++) printf("%g\n", A[i][j]); }
  return 0;
}
