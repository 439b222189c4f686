/* A dot product, unrolled by hand by five; what is left over is added after that. */

void unrolled_dot(int n, const double a[restrict n], const double b[restrict n],
                  double dot[restrict 1])
{
    double sum = 0.0;
    int i;

    for (i = 0; i + 4 < n; i += 5)
        sum = sum + a[i] * b[i] + a[i + 1] * b[i + 1] + a[i + 2] * b[i + 2] +
              a[i + 3] * b[i + 3] + a[i + 4] * b[i + 4];
    for (i = n / 5 * 5; i < n; i++)
        sum += a[i] * b[i];
    dot[0] = sum;
}
