/* The greatest element of each row, and the first place where it stands. */

void argmax_rows(int N, int M, const float a[restrict N][M], int at[restrict N],
                 float value[restrict N])
{
    for (int i = 0; i < N; i++) {
        int index = 0;
        float best = a[i][0];
        for (int j = 1; j < M; j++)
            if (a[i][j] > best) {
                best = a[i][j];
                index = j;
            }
        at[i] = index;
        value[i] = best;
    }
}
