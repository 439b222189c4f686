/* Samples that stand out from the mean of both neighbours are cut, and marked: few of them. */

void rare_store(int n, float limit, const float x[restrict n], float y[restrict n],
                unsigned char mark[restrict n])
{
    for (int i = 0; i < n; i++)
        y[i] = x[i];
    for (int i = 1; i < n - 1; i++) {
        float mean = 0.5f * (x[i - 1] + x[i + 1]);
        float off = x[i] - mean;
        if (off > limit) {
            y[i] = mean + limit;
            mark[i] = 1;
        } else if (off < -limit) {
            y[i] = mean - limit;
            mark[i] = 1;
        }
    }
}
