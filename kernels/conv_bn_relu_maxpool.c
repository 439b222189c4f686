/* The stem of ResNet: convolution 7 x 7 with stride 2, batch normalisation folded to a scale and a
   shift per channel, ReLU, and max pooling 3 x 3 with stride 2; layout NCHW. */
#include <math.h>

#define K 7
#define STRIDE 2
#define PAD 3

/* Sides after the convolution and after the pooling of n inputs along a side. */
#define MID(n) (((n) + 2 * PAD - K) / STRIDE + 1)
#define OUT(n) ((MID(n) - 1) / 2 + 1)

void conv_bn_relu_maxpool(int N, int CO, int CI, int H, int W,
                          const float img[restrict N][CI][H][W],
                          const float weight[restrict CO][CI][K][K],
                          const float scale[restrict CO], const float shift[restrict CO],
                          float out[restrict N][CO][OUT(H)][OUT(W)])
{
    float padded[N][CI][H + 2 * PAD][W + 2 * PAD];
    float conv[N][CO][MID(H)][MID(W)];
    float act[N][CO][MID(H)][MID(W)];

    for (int n = 0; n < N; n++)
        for (int ci = 0; ci < CI; ci++)
            for (int y = 0; y < H + 2 * PAD; y++)
                for (int x = 0; x < W + 2 * PAD; x++)
                    padded[n][ci][y][x] = PAD <= y && y < H + PAD && PAD <= x && x < W + PAD
                                              ? img[n][ci][y - PAD][x - PAD]
                                              : 0.0f;

    for (int n = 0; n < N; n++)
        for (int co = 0; co < CO; co++)
            for (int y = 0; y < MID(H); y++)
                for (int x = 0; x < MID(W); x++) {
                    conv[n][co][y][x] = 0.0f;
                    for (int ci = 0; ci < CI; ci++)
                        for (int ky = 0; ky < K; ky++)
                            for (int kx = 0; kx < K; kx++)
                                conv[n][co][y][x] +=
                                    padded[n][ci][STRIDE * y + ky][STRIDE * x + kx] *
                                    weight[co][ci][ky][kx];
                }

    for (int n = 0; n < N; n++)
        for (int co = 0; co < CO; co++)
            for (int y = 0; y < MID(H); y++)
                for (int x = 0; x < MID(W); x++)
                    act[n][co][y][x] = fmaxf(conv[n][co][y][x] * scale[co] + shift[co], 0.0f);

    /* ReLU's results are never negative, so 0 is the neutral element of their maximum. */
    for (int n = 0; n < N; n++)
        for (int co = 0; co < CO; co++)
            for (int y = 0; y < OUT(H); y++)
                for (int x = 0; x < OUT(W); x++) {
                    out[n][co][y][x] = 0.0f;
                    for (int ky = 0; ky < 3; ky++)
                        for (int kx = 0; kx < 3; kx++)
                            if (1 <= 2 * y + ky && 2 * y + ky <= MID(H) &&
                                1 <= 2 * x + kx && 2 * x + kx <= MID(W))
                                out[n][co][y][x] =
                                    fmaxf(out[n][co][y][x],
                                          act[n][co][2 * y + ky - 1][2 * x + kx - 1]);
                }
}
