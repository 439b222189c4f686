/* How many elements are above a threshold, and their sum. */

void count_above(int n, float threshold, const float a[restrict n], int count[restrict 1],
                 double sum[restrict 1])
{
    int c = 0;
    double s = 0.0;

    for (int i = 0; i < n; i++) {
        c += a[i] > threshold;
        if (a[i] > threshold)
            s += a[i];
    }
    count[0] = c;
    sum[0] = s;
}
