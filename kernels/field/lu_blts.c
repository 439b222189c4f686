/* A sweep over a grid in lexicographic order, as the lower triangle of SSOR has it: each cell
   of five unknowns takes off what three small matrices make of its lower neighbours. */

void lu_blts(int n, double omega, const double ldx[restrict 5][5], const double ldy[restrict 5][5],
             const double ldz[restrict 5][5], double v[restrict n][n][n][5])
{
    int i, j, k, m;
    double tv[5];

#pragma scop
    for (k = 1; k < n - 1; k++)
        for (j = 1; j < n - 1; j++)
            for (i = 1; i < n - 1; i++) {
                for (m = 0; m < 5; m++) {
                    tv[m] = v[k][j][i][m];
                    for (int l = 0; l < 5; l++)
                        tv[m] -= omega * (ldz[m][l] * v[k - 1][j][i][l] +
                                          ldy[m][l] * v[k][j - 1][i][l] +
                                          ldx[m][l] * v[k][j][i - 1][l]);
                }
                for (m = 0; m < 5; m++)
                    v[k][j][i][m] = tv[m];
            }
#pragma endscop
}
