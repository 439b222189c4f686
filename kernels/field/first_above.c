/* The first element of each row above a threshold, by its index; -1 where there is none. */

#pragma polyopt inbounds

void first_above(int n, int m, float threshold, const float a[restrict n][m], int first[restrict n])
{
#pragma scop
    for (int i = 0; i < n; i++) {
        first[i] = -1;
        for (int j = 0; j < m; j++)
            if (a[i][j] > threshold) {
                first[i] = j;
                break;
            }
    }
#pragma endscop
}
