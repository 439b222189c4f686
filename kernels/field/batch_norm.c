/* Batch normalisation as in training: mean and variance of each channel over images and pixels,
   then the normalised images; layout NCHW. */
#include <math.h>

void batch_norm(int N, int C, int H, int W, const float x[restrict N][C][H][W],
                const float gamma[restrict C], const float beta[restrict C],
                float mean[restrict C], float var[restrict C], float y[restrict N][C][H][W])
{
    for (int c = 0; c < C; c++) {
        mean[c] = 0.0f;
        for (int n = 0; n < N; n++)
            for (int i = 0; i < H; i++)
                for (int j = 0; j < W; j++)
                    mean[c] += x[n][c][i][j];
        mean[c] /= N * H * W;
        var[c] = 0.0f;
        for (int n = 0; n < N; n++)
            for (int i = 0; i < H; i++)
                for (int j = 0; j < W; j++)
                    var[c] += (x[n][c][i][j] - mean[c]) * (x[n][c][i][j] - mean[c]);
        var[c] /= N * H * W;
    }
    for (int n = 0; n < N; n++)
        for (int c = 0; c < C; c++)
            for (int i = 0; i < H; i++)
                for (int j = 0; j < W; j++)
                    y[n][c][i][j] =
                        gamma[c] * (x[n][c][i][j] - mean[c]) / sqrtf(var[c] + 1e-5f) + beta[c];
}
