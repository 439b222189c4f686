/* A recurrence between statements that have none. */

void mixed_recurrence(int n, float a[restrict n], const float b[restrict n],
                      const float c[restrict n], float e[restrict n])
{
    for (int i = 1; i < n; i++) {
        a[i] += b[i] * c[i];
        e[i] = 0.5f * e[i - 1] + a[i];
        a[i] -= b[i] * e[i];
    }
}
