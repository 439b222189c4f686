/* Images of size_t, minima and maxima, arrays of arguments, reductions, regions inside loops and switch. */
#include <stdio.h>
#include <stdlib.h>
#include <math.h>
#include <stdint.h>
#include <stdbool.h>
#define MAX(a, b) ((a) > (b) ? (a) : (b))
#define MIN(a, b) ((a) < (b) ? (a) : (b))
#define IDX(r, c) ((r) * w + (c))
typedef float real;
static int32_t lut[256];
struct img { size_t w, h; uint8_t *px; };

static void blurimg(struct img *in, struct img *out) {
  size_t w = in->w, h = in->h;
#pragma scop
  for (size_t y = 1; y + 1 < h; y++)
    for (size_t x = 1; x + 1 < w; x++) {
      int acc = 0;
      for (int dy = -1; dy <= 1; dy++)
        for (int dx = -1; dx <= 1; dx++)
          acc += in->px[(y + dy) * w + x + dx];
      out->px[y * w + x] = acc / 9;
    }
#pragma endscop
}
static void blur2(int w, int h, const uint8_t *restrict src, uint8_t *restrict dst) {
#pragma scop
  for (int y = 1; y < h - 1; y++)
    for (int x = 1; x < w - 1; x++) {
      int acc = 0;
      for (int dy = -1; dy <= 1; dy++)
        for (int dx = -1; dx <= 1; dx++)
          acc += src[IDX(y + dy, x + dx)];
      dst[IDX(y, x)] = MIN(255, MAX(0, acc / 9 + 3));
    }
#pragma endscop
}
static double dot(int n, const double *a, const double *b, double *result) {
#pragma scop
  *result = 0;
  for (int i = 0; i < n; i++) *result += a[i] * b[i];
#pragma endscop
  return *result;
}
static void flip(int n, int m, double (*A)[m], double *restrict B) {
#pragma scop
  for (int i = 0; i < n; i++)
    for (int j = m - 1; j >= 0; j--)
      B[(n - 1 - i) * m + j] = A[i][m - 1 - j] > 3 ? sqrt(A[i][j]) : fabs(A[i][j] - 5);
#pragma endscop
}
static void gatherrows(int n, int m, double A[n][m], double B[n][m], const int *restrict idx) {
  bool odd;
#pragma scop
  for (int i = 0; i < n; i++) {
    double t[4] = {1, 2, 3};
    odd = i % 2;
    for (int j = 0; j < m; j++)
      A[i][j] += B[idx[i]][j] + t[j % 4] + (odd ? 1 : 0);
  }
#pragma endscop
}
int main(void) {
  int n = 24, m = 18;
  double (*A)[m] = malloc(sizeof(double[n][m])), (*B)[m] = malloc(sizeof(double[n][m])), *C = malloc(sizeof(double[n][m]));
  int idx[24];
  for (int i = 0; i < n; i++) { idx[i] = (i * 5) % n; for (int j = 0; j < m; j++) { A[i][j] = (i * j) % 9; B[i][j] = i + j; } }
  real f[40]; real g[40];
  double eps = 1; int it = 0;
  for (int i = 0; i < 40; i++) f[i] = g[i] = (real)i / 3;
  while (eps > 1e-2 && it < 30) {
    eps = 0;
#pragma scop
    for (int i = 1; i < 39; i++)
      g[i] = 0.5f * (f[i - 1] + f[i + 1]) + 0.1f;
    for (int i = 1; i < 39; i++)
      eps += fabs(g[i] - f[i]);
    for (int i = 1; i < 39; i++)
      f[i] = g[i];
#pragma endscop
    it++;
  }
  printf("%d %.9g\n", it, eps);
  flip(n, m, A, C);
  gatherrows(n, m, A, B, idx);
  double r = 0;
  dot(n * m, C, &B[0][0], &r);
  dot(3, C, &B[0][0], &C[1]);
  printf("%.17g %.17g\n", r, C[1]);
  for (int i = 0; i < n; i++) for (int j = 0; j < m; j++) printf("%.17g %.17g\n", A[i][j], C[i * m + j]);
  struct img a = {17, 13, malloc(221)}, b = {17, 13, calloc(221, 1)};
  for (int i = 0; i < 221; i++) a.px[i] = i * 37;
  blurimg(&a, &b);
  blur2(17, 13, b.px, a.px);
  int total = 0;
  switch (n) { case 24:
#pragma scop
    for (int i = 0; i < 256; i++) { lut[i] = (i << 2) ^ (i >> 1); total += lut[i] & 15; }
#pragma endscop
    break; default: total = 1; }
  for (int i = 0; i < 221; i++) printf("%d %d\n", a.px[i], b.px[i]);
  printf("%d\n", total);
  for (int i = 0; i < 40; i++) printf("%.9g\n", f[i]);
  short s[3][5]; unsigned short us = 0; long long big = 1;
  { int i = 0, j;
#pragma scop
    for (i = 0; i < 3; i++) for (j = 4; j >= 0; j -= 2) { s[i][j] = (short)(i * 20000 + j); us += s[i][j]; big *= 3; }
#pragma endscop
  }
  for (int i = 0; i < 3; i++) printf("%d %d\n", s[i][0], s[i][4]);
  printf("%u %lld\n", us, big);
  free(A), free(B), free(C), free(a.px), free(b.px);
  return 0;
}
