/* Convolution with zero padding and stride, batch normalisation folded to a scale and a shift per
   channel, and ReLU; layout NCHW. Define K, STRIDE and PAD for other shapes of kernel. */
#include <math.h>

#ifndef K
#define K 3
#endif
#ifndef STRIDE
#define STRIDE 1
#endif
#ifndef PAD
#define PAD 1
#endif

/* Number of outputs along a side of n inputs. */
#define OUT(n) (((n) + 2 * PAD - K) / STRIDE + 1)

void conv_bn_relu(int N, int CO, int CI, int H, int W,
                  const float img[restrict N][CI][H][W],
                  const float weight[restrict CO][CI][K][K],
                  const float scale[restrict CO], const float shift[restrict CO],
                  float out[restrict N][CO][OUT(H)][OUT(W)])
{
    float padded[N][CI][H + 2 * PAD][W + 2 * PAD];
    float conv[N][CO][OUT(H)][OUT(W)];

    for (int n = 0; n < N; n++)
        for (int ci = 0; ci < CI; ci++)
            for (int y = 0; y < H + 2 * PAD; y++)
                for (int x = 0; x < W + 2 * PAD; x++)
                    padded[n][ci][y][x] = PAD <= y && y < H + PAD && PAD <= x && x < W + PAD
                                              ? img[n][ci][y - PAD][x - PAD]
                                              : 0.0f;

    for (int n = 0; n < N; n++)
        for (int co = 0; co < CO; co++)
            for (int y = 0; y < OUT(H); y++)
                for (int x = 0; x < OUT(W); x++) {
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
            for (int y = 0; y < OUT(H); y++)
                for (int x = 0; x < OUT(W); x++)
                    out[n][co][y][x] = fmaxf(conv[n][co][y][x] * scale[co] + shift[co], 0.0f);
}
