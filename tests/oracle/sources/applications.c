/* What applications have: sparse products, finite elements, folded arrays, structs, searches. */
#include <stdio.h>
#include <stdlib.h>

#define NODES 50
#define ELEMS 64

struct mesh { int n, m; double *data; int *conn; };
struct point { double x, y; int tag; };

/* equake's: symmetric, the upper half stored, rows found by an index. */
static void smvp(int nodes, double (*restrict A)[3][3], const int *restrict Acol,
                 const int *restrict Aindex, double (*restrict v)[3], double (*restrict w)[3])
{
  int i, Anext, Alast, col;
  double sum0, sum1, sum2;
#pragma scop
  for (i = 0; i < nodes; i++) {
    Anext = Aindex[i];
    Alast = Aindex[i + 1];
    sum0 = A[Anext][0][0] * v[i][0] + A[Anext][0][1] * v[i][1] + A[Anext][0][2] * v[i][2];
    sum1 = A[Anext][1][0] * v[i][0] + A[Anext][1][1] * v[i][1] + A[Anext][1][2] * v[i][2];
    sum2 = A[Anext][2][0] * v[i][0] + A[Anext][2][1] * v[i][1] + A[Anext][2][2] * v[i][2];
    Anext++;
    while (Anext < Alast) {
      col = Acol[Anext];
      sum0 += A[Anext][0][0] * v[col][0] + A[Anext][0][1] * v[col][1] + A[Anext][0][2] * v[col][2];
      sum1 += A[Anext][1][0] * v[col][0] + A[Anext][1][1] * v[col][1] + A[Anext][1][2] * v[col][2];
      sum2 += A[Anext][2][0] * v[col][0] + A[Anext][2][1] * v[col][1] + A[Anext][2][2] * v[col][2];
      w[col][0] += A[Anext][0][0] * v[i][0] + A[Anext][1][0] * v[i][1] + A[Anext][2][0] * v[i][2];
      w[col][1] += A[Anext][0][1] * v[i][0] + A[Anext][1][1] * v[i][1] + A[Anext][2][1] * v[i][2];
      w[col][2] += A[Anext][0][2] * v[i][0] + A[Anext][1][2] * v[i][1] + A[Anext][2][2] * v[i][2];
      Anext++;
    }
    w[i][0] += sum0;
    w[i][1] += sum1;
    w[i][2] += sum2;
  }
#pragma endscop
}

/* finite-element update: scatter of element contributions */
static void fem(int ne, int nn, const int conn[restrict][4], const double *restrict u, double *restrict f,
                double ke[4][4])
{
#pragma scop
  for (int e = 0; e < ne; e++)
    for (int a = 0; a < 4; a++)
      for (int b = 0; b < 4; b++)
        f[conn[e][a]] += ke[a][b] * u[conn[e][b]];
  for (int i = 0; i < nn; i++)
    f[i] = 0.5 * f[i];
#pragma endscop
}

/* delinearised */
static void gemm1(int n, int m, int p, const double *restrict A, const double *restrict B, double *restrict C)
{
#pragma scop
  for (int i = 0; i < n; i++)
    for (int j = 0; j < m; j++) {
      C[i * m + j] = 0;
      for (int k = 0; k < p; k++)
        C[i * m + j] += A[i * p + k] * B[k * m + j];
    }
#pragma endscop
}

/* a search by halves for each key */
static void lookup(int n, int nk, const int *restrict table, const int *restrict keys, int *restrict where)
{
#pragma scop
  for (int i = 0; i < nk; i++) {
    int lo = 0, hi = n;
    while (lo < hi) {
      int mid = lo + (hi - lo) / 2;
      if (table[mid] < keys[i])
        lo = mid + 1;
      else
        hi = mid;
    }
    where[i] = lo;
  }
#pragma endscop
}

/* linear search with break for each key */
static void linear(int n, int nk, const int *restrict table, const int *restrict keys, int *restrict where)
{
  int i, j;
#pragma scop
  for (i = 0; i < nk; i++) {
    where[i] = -1;
    for (j = 0; j < n; j++)
      if (table[j] == keys[i]) {
        where[i] = j;
        break;
      }
  }
#pragma endscop
}

/* a linear while search */
static int walk(int n, const int *restrict next, const double *restrict w, double *restrict out)
{
  int p;
#pragma scop
  for (int i = 0; i < n; i++) {
    p = i;
    double total = 0;
    int steps = 0;
    while (p >= 0 && steps < n) {
      total += w[p];
      p = next[p];
      steps++;
    }
    out[i] = total;
  }
#pragma endscop
  return 0;
}

/* struct members behind pointers */
static void scale(struct mesh *g, double by)
{
#pragma scop
  for (int i = 0; i < g->n; i++)
    for (int j = 0; j < g->m; j++)
      g->data[i * g->m + j] = g->data[i * g->m + j] * by + g->conn[i] * 0.5;
#pragma endscop
}

static void points(int n, struct point *p, double dx)
{
#pragma scop
  for (int i = 0; i < n; i++) {
    p[i].x += dx;
    if (p[i].x > 10)
      p[i].y -= dx * p[i].x;
    p[i].tag = p[i].x > p[i].y;
  }
#pragma endscop
}

/* stencil in place over time, folded */
static void heat(int steps, int n, double *restrict a, double *restrict b)
{
#pragma scop
  for (int t = 0; t < steps; t++) {
    for (int i = 1; i < n - 1; i++)
      for (int j = 1; j < n - 1; j++)
        b[i * n + j] = 0.25 * (a[(i - 1) * n + j] + a[(i + 1) * n + j] + a[i * n + j - 1] + a[i * n + j + 1]);
    for (int i = 1; i < n - 1; i++)
      for (int j = 1; j < n - 1; j++)
        a[i * n + j] = b[i * n + j];
  }
#pragma endscop
}

/* a histogram, prefix sums, and a scatter by them */
static void counting(int n, const unsigned char *restrict in, int *restrict start, unsigned char *restrict out)
{
#pragma scop
  for (int v = 0; v < 257; v++)
    start[v] = 0;
  for (int i = 0; i < n; i++)
    start[in[i] + 1]++;
  for (int v = 0; v < 256; v++)
    start[v + 1] += start[v];
  for (int i = 0; i < n; i++)
    out[start[in[i]]] = in[i];
#pragma endscop
}

int main(void)
{
  static double A[400][3][3], v[NODES][3], w[NODES][3];
  static int Acol[400], Aindex[NODES + 1];
  int c = 0;
  for (int i = 0; i < NODES; i++) {
    Aindex[i] = c;
    Acol[c++] = i;
    for (int j = i + 1; j < NODES && j < i + 1 + i % 6; j++)
      Acol[c++] = (i + j * 3) % NODES;
    for (int k = 0; k < 3; k++) v[i][k] = i * 0.25 + k, w[i][k] = 0;
  }
  Aindex[NODES] = c;
  for (int k = 0; k < c; k++) for (int a = 0; a < 9; a++) A[k][a / 3][a % 3] = (k * 7 + a) % 11 - 5;
  smvp(NODES, A, Acol, Aindex, v, w);
  for (int i = 0; i < NODES; i++) printf("%a %a %a\n", w[i][0], w[i][1], w[i][2]);
  static int conn[ELEMS][4]; static double u[NODES], f[NODES], ke[4][4];
  for (int e = 0; e < ELEMS; e++) for (int a = 0; a < 4; a++) conn[e][a] = (e * 5 + a * 7) % NODES, ke[a][e % 4] = a - e % 4 * 0.5;
  for (int i = 0; i < NODES; i++) u[i] = i % 13, f[i] = i;
  fem(ELEMS, NODES, (const int (*)[4])conn, u, f, ke);
  for (int i = 0; i < NODES; i++) printf("%a\n", f[i]);
  static double P[17 * 19], Q[19 * 23], R[17 * 23];
  for (int i = 0; i < 17 * 19; i++) P[i] = i % 7 - 3;
  for (int i = 0; i < 19 * 23; i++) Q[i] = i % 5 * 0.5;
  gemm1(17, 23, 19, P, Q, R);
  for (int i = 0; i < 17 * 23; i++) printf("%a\n", R[i]);
  static int table[97], keys[31], where[31];
  for (int i = 0; i < 97; i++) table[i] = i * 3;
  for (int i = 0; i < 31; i++) keys[i] = i * 11 - 5;
  lookup(97, 31, table, keys, where);
  for (int i = 0; i < 31; i++) printf("%d\n", where[i]);
  linear(97, 31, table, keys, where);
  for (int i = 0; i < 31; i++) printf("%d\n", where[i]);
  static int next[NODES]; static double out[NODES];
  for (int i = 0; i < NODES; i++) next[i] = i % 3 ? i - 1 : (i * 7) % NODES - 1;
  walk(NODES, next, u, out);
  for (int i = 0; i < NODES; i++) printf("%a\n", out[i]);
  struct mesh g = {17, 19, P, conn[0]};
  scale(&g, 1.5);
  struct point pts[21];
  for (int i = 0; i < 21; i++) pts[i] = (struct point){i, 20 - i, 0};
  points(21, pts, 0.5);
  for (int i = 0; i < 21; i++) printf("%a %a %d\n", pts[i].x, pts[i].y, pts[i].tag);
  static double a[41 * 41], b[41 * 41];
  for (int i = 0; i < 41 * 41; i++) a[i] = i % 17, b[i] = 0;
  heat(7, 41, a, b);
  for (int i = 0; i < 41 * 41; i++) printf("%a\n", a[i]);
  static unsigned char in[501], sorted[501]; static int start[257];
  for (int i = 0; i < 501; i++) in[i] = (i * 37) % 251;
  counting(501, in, start, sorted);
  for (int i = 0; i < 501; i++) printf("%d\n", sorted[i]);
  for (int i = 0; i < 17 * 19; i++) printf("%a\n", P[i]);
  return 0;
}
