/* Quantise an image, convolve it with a 3 x 3 kernel, apply ReLU: the running example of
   output-driven fusion. The convolution is an initialisation and a reduction, and ReLU works in
   place. */
#include <math.h>

#define K 3

void conv2d(int H, int W, float scale, const float A[restrict H][W], const float B[restrict K][K],
            float C[restrict H - K + 1][W - K + 1])
{
    float Q[H][W];

    for (int h = 0; h < H; h++)
        for (int w = 0; w < W; w++)
            Q[h][w] = floorf(A[h][w] * scale + 0.5f);

    for (int h = 0; h < H - K + 1; h++)
        for (int w = 0; w < W - K + 1; w++) {
            C[h][w] = 0.0f;
            for (int kh = 0; kh < K; kh++)
                for (int kw = 0; kw < K; kw++)
                    C[h][w] += Q[h + kh][w + kw] * B[kh][kw];
        }

    for (int h = 0; h < H - K + 1; h++)
        for (int w = 0; w < W - K + 1; w++)
            C[h][w] = fmaxf(C[h][w], 0.0f);
}
