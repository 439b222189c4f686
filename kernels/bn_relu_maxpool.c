/* Batch normalisation folded to a scale and a shift per channel, ReLU, and max pooling 3 x 3 with
   stride 2 and padding 1; layout NCHW. Elements of the padding take no part in the maximum. */
#include <math.h>

/* Number of outputs along a side of n inputs. */
#define OUT(n) (((n) - 1) / 2 + 1)

void bn_relu_maxpool(int N, int C, int H, int W,
                     const float img[restrict N][C][H][W],
                     const float scale[restrict C], const float shift[restrict C],
                     float out[restrict N][C][OUT(H)][OUT(W)])
{
    float act[N][C][H][W];

    for (int n = 0; n < N; n++)
        for (int c = 0; c < C; c++)
            for (int y = 0; y < H; y++)
                for (int x = 0; x < W; x++)
                    act[n][c][y][x] = fmaxf(img[n][c][y][x] * scale[c] + shift[c], 0.0f);

    /* ReLU's results are never negative, so 0 is the neutral element of their maximum. */
    for (int n = 0; n < N; n++)
        for (int c = 0; c < C; c++)
            for (int y = 0; y < OUT(H); y++)
                for (int x = 0; x < OUT(W); x++) {
                    out[n][c][y][x] = 0.0f;
                    for (int ky = 0; ky < 3; ky++)
                        for (int kx = 0; kx < 3; kx++)
                            if (1 <= 2 * y + ky && 2 * y + ky <= H &&
                                1 <= 2 * x + kx && 2 * x + kx <= W)
                                out[n][c][y][x] = fmaxf(out[n][c][y][x],
                                                        act[n][c][2 * y + ky - 1][2 * x + kx - 1]);
                }
}
