/* Correlations of M variables over N observations, a row of data each. The data are centred and
   scaled in place; a variable that hardly varies keeps its scale. */

#include <math.h>

void correlation(int M, int N, double data[restrict N][M], double mean[restrict M],
                 double stddev[restrict M], double corr[restrict M][M])
{
#pragma scop
    for (int j = 0; j < M; j++) {
        mean[j] = 0;
        for (int i = 0; i < N; i++)
            mean[j] += data[i][j];
        mean[j] = mean[j] / N;
    }
    for (int j = 0; j < M; j++) {
        stddev[j] = 0;
        for (int i = 0; i < N; i++)
            stddev[j] += (data[i][j] - mean[j]) * (data[i][j] - mean[j]);
        stddev[j] = sqrt(stddev[j] / N);
        stddev[j] = stddev[j] <= 0.1 ? 1.0 : stddev[j];
    }
    for (int i = 0; i < N; i++)
        for (int j = 0; j < M; j++) {
            data[i][j] -= mean[j];
            data[i][j] /= sqrt((double)N) * stddev[j];
        }
    for (int i = 0; i < M - 1; i++) {
        corr[i][i] = 1;
        for (int j = i + 1; j < M; j++) {
            corr[i][j] = 0;
            for (int k = 0; k < N; k++)
                corr[i][j] += data[k][i] * data[k][j];
            corr[j][i] = corr[i][j];
        }
    }
    corr[M - 1][M - 1] = 1;
#pragma endscop
}
