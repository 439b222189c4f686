/* Restriction of a residual to the next coarser grid by full weighting over 27 points. */

void mg_restrict(int m, const double r[restrict 2 * m + 1][2 * m + 1][2 * m + 1],
                 double s[restrict m][m][m])
{
    double x1[2 * m + 1], y1[2 * m + 1];
    double x2, y2;

#pragma scop
    for (int j3 = 0; j3 < m; j3++) {
        int i3 = 2 * j3;
        for (int j2 = 0; j2 < m; j2++) {
            int i2 = 2 * j2;
            for (int j1 = 0; j1 < m + 1; j1++) {
                int i1 = 2 * j1;
                x1[i1] = r[i3 + 1][i2][i1] + r[i3 + 1][i2 + 2][i1] + r[i3][i2 + 1][i1] +
                         r[i3 + 2][i2 + 1][i1];
                y1[i1] = r[i3][i2][i1] + r[i3 + 2][i2][i1] + r[i3][i2 + 2][i1] +
                         r[i3 + 2][i2 + 2][i1];
            }
            for (int j1 = 0; j1 < m; j1++) {
                int i1 = 2 * j1;
                y2 = r[i3][i2][i1 + 1] + r[i3 + 2][i2][i1 + 1] + r[i3][i2 + 2][i1 + 1] +
                     r[i3 + 2][i2 + 2][i1 + 1];
                x2 = r[i3 + 1][i2][i1 + 1] + r[i3 + 1][i2 + 2][i1 + 1] + r[i3][i2 + 1][i1 + 1] +
                     r[i3 + 2][i2 + 1][i1 + 1];
                s[j3][j2][j1] = 0.5 * r[i3 + 1][i2 + 1][i1 + 1] +
                                0.25 * (r[i3 + 1][i2 + 1][i1] + r[i3 + 1][i2 + 1][i1 + 2] + x2) +
                                0.125 * (x1[i1] + x1[i1 + 2] + y2) +
                                0.0625 * (y1[i1] + y1[i1 + 2]);
            }
        }
    }
#pragma endscop
}
