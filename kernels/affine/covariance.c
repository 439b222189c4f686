/* Covariances of M variables over a population of N, a row of data each. The data are centred in
   place. */

void covariance(int M, int N, double data[restrict N][M], double mean[restrict M],
                double cov[restrict M][M])
{
#pragma scop
    for (int j = 0; j < M; j++) {
        mean[j] = 0;
        for (int i = 0; i < N; i++)
            mean[j] += data[i][j];
        mean[j] = mean[j] / N;
    }
    for (int i = 0; i < N; i++)
        for (int j = 0; j < M; j++)
            data[i][j] -= mean[j];
    for (int i = 0; i < M; i++)
        for (int j = i; j < M; j++) {
            cov[i][j] = 0;
            for (int k = 0; k < N; k++)
                cov[i][j] += data[k][i] * data[k][j];
            cov[i][j] = cov[i][j] / N;
            cov[j][i] = cov[i][j];
        }
#pragma endscop
}
