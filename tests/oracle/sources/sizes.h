#ifndef SIZES_H
#define SIZES_H
#ifndef N
#define N 37
#endif
#define DATA_TYPE double
#define SQRT_FUN(v) sqrt(v)
#define SCALAR_VAL(v) v
#define ARRAY_2D(var, d1, d2, n1, n2) var[n1][n2]
#endif
