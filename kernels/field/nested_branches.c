/* Branches within branches, which change what later ones look at, as loops of old codes have
   them. */

void nested_branches(int n, float a[restrict n], float b[restrict n], float c[restrict n],
                     const float d[restrict n], const float e[restrict n])
{
    for (int i = 0; i < n; i++) {
        if (a[i] > 0.0f) {
            c[i] = -c[i] + e[i] * e[i];
        } else {
            b[i] = -b[i] + d[i] * d[i];
            if (b[i] > a[i])
                c[i] += d[i] * e[i];
        }
        if (a[i] > 0.0f || b[i] > a[i])
            a[i] = b[i] + c[i] * d[i];
    }
}
