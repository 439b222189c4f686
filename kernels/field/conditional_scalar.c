/* Where one array is greater than another one, a difference is kept and added up elsewhere. */

void conditional_scalar(int n, float a[restrict n], const float b[restrict n], float c[restrict n],
                        const float d[restrict n])
{
    float s;

    for (int i = 0; i < n; i++) {
        if (a[i] > b[i]) {
            s = a[i] - b[i] * d[i];
            c[i] += s;
            a[i] = s;
        }
    }
}
