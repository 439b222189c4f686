/* Local alignment of Smith and Waterman with affine gaps, by Gotoh: the score of the best alignment
   that ends at each pair, and the best of all. */

static int most(int a, int b)
{
    return a > b ? a : b;
}

void smith_waterman(int n, int m, int match, int mismatch, int open, int extend,
                    const int a[restrict n], const int b[restrict m], int best[restrict 1],
                    int h[restrict n + 1][m + 1])
{
    int e[n + 1][m + 1], f[n + 1][m + 1];

    best[0] = 0;
    for (int i = 0; i <= n; i++) {
        h[i][0] = 0;
        e[i][0] = -100000;
    }
    for (int j = 0; j <= m; j++) {
        h[0][j] = 0;
        f[0][j] = -100000;
    }
    for (int i = 1; i <= n; i++)
        for (int j = 1; j <= m; j++) {
            e[i][j] = most(e[i][j - 1] - extend, h[i][j - 1] - open);
            f[i][j] = most(f[i - 1][j] - extend, h[i - 1][j] - open);
            int score = h[i - 1][j - 1] + (a[i - 1] == b[j - 1] ? match : -mismatch);
            h[i][j] = most(most(score, 0), most(e[i][j], f[i][j]));
            best[0] = most(best[0], h[i][j]);
        }
}
