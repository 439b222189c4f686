/* A block-diagonal matrix times the vector of five unknowns of each cell, in place; what
   neighbouring expressions share stands in scalars that are used again. */

void sp_tzetar(int n, double bt, const double us[restrict n][n][n],
               const double vs[restrict n][n][n], const double ws[restrict n][n][n],
               const double qs[restrict n][n][n], const double speed[restrict n][n][n],
               double rhs[restrict n][n][n][5])
{
    int i, j, k;
    double t1, t2, t3, ac, xvel, yvel, zvel, r1, r2, r3, r4, r5, btuz, ac2u, uzik1;

#pragma scop
    for (k = 1; k <= n - 2; k++) {
        for (j = 1; j <= n - 2; j++) {
            for (i = 1; i <= n - 2; i++) {
                xvel = us[k][j][i];
                yvel = vs[k][j][i];
                zvel = ws[k][j][i];
                ac = speed[k][j][i];
                ac2u = ac * ac;

                r1 = rhs[k][j][i][0];
                r2 = rhs[k][j][i][1];
                r3 = rhs[k][j][i][2];
                r4 = rhs[k][j][i][3];
                r5 = rhs[k][j][i][4];

                uzik1 = us[k][j][i] * 0.5 + 1.0;
                btuz = bt * uzik1;

                t1 = btuz / ac * (r4 + r5);
                t2 = r3 + t1;
                t3 = btuz * (r4 - r5);

                rhs[k][j][i][0] = t2;
                rhs[k][j][i][1] = -uzik1 * r2 + xvel * t2;
                rhs[k][j][i][2] = uzik1 * r1 + yvel * t2;
                rhs[k][j][i][3] = zvel * t2 + t3;
                rhs[k][j][i][4] = uzik1 * (-xvel * r2 + yvel * r1) + qs[k][j][i] * t2 +
                                  2.5 * ac2u * t1 + zvel * t3;
            }
        }
    }
#pragma endscop
}
