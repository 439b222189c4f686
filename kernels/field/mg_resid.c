/* The residual r = v - A u of a multigrid solver with 27 points of four weights; partial sums of
   neighbouring lines stand in two rows, which are used again for each line. */

void mg_resid(int n, const double a[restrict 4], const double u[restrict n][n][n],
              const double v[restrict n][n][n], double r[restrict n][n][n])
{
    double u1[n], u2[n];
    int i1, i2, i3;

#pragma scop
    for (i3 = 1; i3 < n - 1; i3++) {
        for (i2 = 1; i2 < n - 1; i2++) {
            for (i1 = 0; i1 < n; i1++) {
                u1[i1] = u[i3][i2 - 1][i1] + u[i3][i2 + 1][i1] + u[i3 - 1][i2][i1] +
                         u[i3 + 1][i2][i1];
                u2[i1] = u[i3 - 1][i2 - 1][i1] + u[i3 - 1][i2 + 1][i1] + u[i3 + 1][i2 - 1][i1] +
                         u[i3 + 1][i2 + 1][i1];
            }
            for (i1 = 1; i1 < n - 1; i1++) {
                r[i3][i2][i1] = v[i3][i2][i1] - a[0] * u[i3][i2][i1] -
                                a[2] * (u2[i1] + u1[i1 - 1] + u1[i1 + 1]) -
                                a[3] * (u2[i1 - 1] + u2[i1 + 1]);
            }
        }
    }
#pragma endscop
}
