/* The last negative element of each row, by its index; -1 where there is none. */

void last_negative(int n, int m, const float a[restrict n][m], int last[restrict n])
{
    for (int r = 0; r < n; r++) {
        int j = -1;
        for (int i = 0; i < m; i++)
            if (a[r][i] < 0.0f)
                j = i;
        last[r] = j;
    }
}
