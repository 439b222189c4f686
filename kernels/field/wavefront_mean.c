/* Each element from its left and its upper neighbour, in place. */

void wavefront_mean(int n, int m, float aa[restrict n][m])
{
    for (int j = 1; j < n; j++)
        for (int i = 1; i < m; i++)
            aa[j][i] = (aa[j][i - 1] + aa[j - 1][i]) / 2.0f;
}
