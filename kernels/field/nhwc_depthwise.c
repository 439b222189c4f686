/* Depthwise convolution, 3 x 3 with padding 1, with bias and ReLU6; layout NHWC. */

void nhwc_depthwise(int N, int H, int W, int C, const float x[restrict N][H][W][C],
                    const float w[restrict 3][3][C], const float bias[restrict C],
                    float out[restrict N][H][W][C])
{
    for (int n = 0; n < N; n++)
        for (int i = 0; i < H; i++)
            for (int j = 0; j < W; j++)
                for (int c = 0; c < C; c++) {
                    float sum = bias[c];
                    for (int ki = 0; ki < 3; ki++)
                        for (int kj = 0; kj < 3; kj++)
                            if (i + ki >= 1 && i + ki <= H && j + kj >= 1 && j + kj <= W)
                                sum += x[n][i + ki - 1][j + kj - 1][c] * w[ki][kj][c];
                    out[n][i][j][c] = sum < 0.0f ? 0.0f : sum > 6.0f ? 6.0f : sum;
                }
}
