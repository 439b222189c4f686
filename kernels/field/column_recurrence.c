/* Two recurrences down columns, written with the columns outside. */

void column_recurrence(int n, float aa[restrict n][n], float bb[restrict n][n],
                       const float cc[restrict n][n])
{
    for (int i = 1; i < n; i++) {
        for (int j = 1; j < n; j++)
            aa[j][i] = 0.5f * aa[j - 1][i] + cc[j][i];
        for (int j = 1; j < n; j++)
            bb[j][i] = 0.5f * bb[j][i - 1] + cc[j][i];
    }
}
