/* Names that generated code would like to have, sizes and scalars that pointers may reach, members
   of one struct through one pointer. */
#include <stdio.h>
#include <stdarg.h>
#include <stdlib.h>

struct pair {
    double left, right;
    int *count;
};
int apart = 3, size = 40;
static double shared[64];
static int many[64];

static void both(struct pair *p, int threads)
{
#pragma scop
    for (int i = 0; i < threads; i++) {
        p[i].left = p[i].right + i;
        p[i].right = 2 * p[i].left;
    }
#pragma endscop
}

static void reach(int *to, double *scale, double *x)
{
    int A_tile = 2, row = 1, v1 = 5;
#pragma scop
    for (int i = 0; i < size; i++)
        to[i] += A_tile + row + v1 + apart;
    for (int i = 0; i < size; i++)
        x[i] = *scale * i;
#pragma endscop
}

static void clear(int *to)
{
#pragma scop
    for (int i = 0; i < size; i++)
        to[i] = 0;
#pragma endscop
}

static void some(int n, const int *restrict chosen, double *restrict to)
{
#pragma scop
    for (int i = 0; i < n; i++) {
        if (chosen[i])
            to[i + 1] = i;
        if (to[i] > 3)
            to[i] = 3;
    }
#pragma endscop
}

static void smooth(int n, int threads, double s_tile, double *restrict b, const double *restrict a)
{
    double s;
#pragma scop
    for (int i = 0; i < n; i++) {
        s = s_tile;
        for (int t = 0; t < threads; t++)
            s += a[(i + t)];
        b[i] = s;
    }
#pragma endscop
}

static int sum(int n, ...)
{
    va_list list;
    int total = 0;
    va_start(list, n);
    while (n--)
        total += va_arg(list, int);
    va_end(list);
    return total;
}

int main(void)
{
    struct pair p[20] = {{1, 2, &size}};
    double a[60];
    both(p, 20);
    for (int i = 0; i < 20; i++)
        printf("%g %g\n", p[i].left, p[i].right);
    shared[7] = 3;
    reach(many, &shared[7], shared); /* the scale is an element of what is written */
    for (int i = 0; i < 60; i++)
        a[i] = i, printf("%g %d\n", shared[i], many[i]);
    size = 9;
    clear(&size); /* the first write changes the size: the source's loop runs */
    printf("%d\n", size);
    smooth(40, 5, 0.5, shared, a);
    smooth(0, 5, 0.5, shared, a);
    smooth(-3, 0, 0.5, shared, a);
    for (int i = 0; i < 40; i++)
        printf("%g\n", shared[i]);
    double *exact = calloc(10, sizeof(double));
    int chosen[10] = {1, 0, 1, 1, 0, 1, 1, 1, 1, 0};
    some(10, chosen, exact); /* there is no element 10, and none is written */
    for (int i = 0; i < 10; i++)
        printf("%g\n", exact[i]);
    free(exact);
    printf("%d\n", sum(3, 1, 2, 3));
    return 0;
}
