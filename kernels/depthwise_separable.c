/* A depthwise-separable layer of MobileNet: depthwise 3 x 3 with zero padding, then pointwise 1 x 1
   with bias and ReLU; channels last. */
#include <math.h>

#define K 3
#define PAD 1

void depthwise_separable(int N, int H, int W, int CI, int CO,
                         const float img[restrict N][H][W][CI],
                         const float dw[restrict K][K][CI],
                         const float pw[restrict CI][CO], const float bias[restrict CO],
                         float out[restrict N][H][W][CO])
{
    float depth[N][H][W][CI];

    for (int n = 0; n < N; n++)
        for (int y = 0; y < H; y++)
            for (int x = 0; x < W; x++) {
                for (int ci = 0; ci < CI; ci++)
                    depth[n][y][x][ci] = 0.0f;
                for (int ky = 0; ky < K; ky++)
                    for (int kx = 0; kx < K; kx++)
                        if (PAD <= y + ky && y + ky < H + PAD && PAD <= x + kx && x + kx < W + PAD)
                            for (int ci = 0; ci < CI; ci++)
                                depth[n][y][x][ci] +=
                                    dw[ky][kx][ci] * img[n][y + ky - PAD][x + kx - PAD][ci];
            }

    for (int n = 0; n < N; n++)
        for (int y = 0; y < H; y++)
            for (int x = 0; x < W; x++) {
                for (int co = 0; co < CO; co++)
                    out[n][y][x][co] = bias[co];
                for (int ci = 0; ci < CI; ci++)
                    for (int co = 0; co < CO; co++)
                        out[n][y][x][co] += depth[n][y][x][ci] * pw[ci][co];
                for (int co = 0; co < CO; co++)
                    out[n][y][x][co] = fmaxf(out[n][y][x][co], 0.0f);
            }
}
