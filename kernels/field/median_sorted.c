/* Medians of five neighbours, each window sorted in a small array of its own. */

void median_sorted(int n, const float x[restrict n + 4], float out[restrict n])
{
    for (int i = 0; i < n; i++) {
        float v[5];
        for (int k = 0; k < 5; k++)
            v[k] = x[i + k];
        for (int p = 0; p < 4; p++)
            for (int q = 0; q < 4 - p; q++)
                if (v[q] > v[q + 1]) {
                    float t = v[q];
                    v[q] = v[q + 1];
                    v[q + 1] = t;
                }
        out[i] = v[2];
    }
}
