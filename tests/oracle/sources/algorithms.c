/* Pivoting, searching, sorting, compaction, hashing: control that data decide, beside what is affine. */
#include <stdio.h>
#include <string.h>
#define N 30
static double A[N][N], x[N], b[N]; static int piv[N];
static char text[64] = "the quick brown fox jumps over the lazy dog";
int main(void) {
  for (int i = 0; i < N; i++) { for (int j = 0; j < N; j++) A[i][j] = (i * 7 + j * 3) % 11 + (i == j) * 20; b[i] = i; }
#pragma scop
  /* LU with partial pivoting */
  for (int k = 0; k < N; k++) {
    int p = k;
    double best = A[k][k] < 0 ? -A[k][k] : A[k][k];
    for (int i = k + 1; i < N; i++) {
      double v = A[i][k] < 0 ? -A[i][k] : A[i][k];
      if (v > best) { best = v; p = i; }
    }
    piv[k] = p;
    for (int j = 0; j < N; j++) { double t = A[k][j]; A[k][j] = A[p][j]; A[p][j] = t; }
    for (int i = k + 1; i < N; i++) {
      A[i][k] /= A[k][k];
      for (int j = k + 1; j < N; j++) A[i][j] -= A[i][k] * A[k][j];
    }
  }
#pragma endscop
  int counts[26];
  unsigned hash = 5381;
#pragma scop
  for (int i = 0; i < 26; i++) counts[i] = 0;
  for (int i = 0; i < 43; i++) {
    if (text[i] >= 'a' && text[i] <= 'z') counts[text[i] - 'a']++;
    hash = hash * 33u ^ (unsigned)text[i];
  }
#pragma endscop
  /* prefix sums, binary search, sort network */
  int keys[40], where[40];
  for (int i = 0; i < 40; i++) keys[i] = i * i;
#pragma scop
  for (int i = 1; i < 40; i++) keys[i] += keys[i - 1];
  for (int q = 0; q < 40; q++) {
    int lo = 0, hi = 40;
    while (lo < hi) { int mid = (lo + hi) / 2; if (keys[mid] < q * 500) lo = mid + 1; else hi = mid; }
    where[q] = lo;
  }
#pragma endscop
  int v[20];
  for (int i = 0; i < 20; i++) v[i] = (i * 37) % 23;
#pragma scop
  for (int i = 1; i < 20; i++) {
    int key = v[i], j = i - 1;
    while (j >= 0 && v[j] > key) { v[j + 1] = v[j]; j--; }
    v[j + 1] = key;
  }
#pragma endscop
  int q = 0, queue[40];
#pragma scop
  for (int i = 0; i < 40; i++)
    if (where[i] % 3 == 0) { queue[q] = i; q++; }
#pragma endscop
  for (int i = 0; i < N; i++) for (int j = 0; j < N; j++) printf("%.17g %d\n", A[i][j], piv[i]);
  for (int i = 0; i < 26; i++) printf("%d\n", counts[i]);
  for (int i = 0; i < 40; i++) printf("%d %d\n", where[i], keys[i]);
  for (int i = 0; i < 20; i++) printf("%d\n", v[i]);
  for (int i = 0; i < q; i++) printf("%d\n", queue[i]);
  printf("%u %d\n", hash, q);
  return 0;
}
