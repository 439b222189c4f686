/* Levenshtein's distances between all beginnings of two texts. */

#define MIN(a, b) ((a) < (b) ? (a) : (b))

void edit_distance(int n, int m, const char a[restrict n], const char b[restrict m],
                   int d[restrict n + 1][m + 1])
{
    for (int i = 0; i <= n; i++)
        d[i][0] = i;
    for (int j = 0; j <= m; j++)
        d[0][j] = j;
    for (int i = 1; i <= n; i++)
        for (int j = 1; j <= m; j++) {
            int cost = a[i - 1] == b[j - 1] ? 0 : 1;
            d[i][j] = MIN(MIN(d[i - 1][j] + 1, d[i][j - 1] + 1), d[i - 1][j - 1] + cost);
        }
}
