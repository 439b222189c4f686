/* A smoothing down columns whose borders are mirrored by arrays of indices, made first. */

#pragma polyopt inbounds

void reflected_rows(int n, int m, const float u[restrict n][m], float out[restrict n][m])
{
    int up[n], down[n];

    for (int i = 0; i < n; i++) {
        up[i] = i - 1;
        down[i] = i + 1;
    }
    up[0] = 0;
    down[n - 1] = n - 1;
    for (int i = 0; i < n; i++)
        for (int j = 0; j < m; j++)
            out[i][j] = 0.25f * u[up[i]][j] + 0.5f * u[i][j] + 0.25f * u[down[i]][j];
}
