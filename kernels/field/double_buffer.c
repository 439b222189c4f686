/* T steps of a smoothing on a line; the states stand in two halves of one array, in turn. */

void double_buffer(int T, int n, float u[restrict 2][n])
{
    for (int t = 0; t < T; t++)
        for (int i = 1; i < n - 1; i++)
            u[(t + 1) % 2][i] =
                0.25f * u[t % 2][i - 1] + 0.5f * u[t % 2][i] + 0.25f * u[t % 2][i + 1];
}
