/* Deriche's recursive smoothing of an image: along each row forwards and backwards, then along each
   column. The coefficients are those of his filter, a1 to a8, and b1 and b2 of both directions. */

void deriche(int H, int W, float a1, float a2, float a3, float a4, float a5, float a6, float a7,
             float a8, float b1, float b2, const float img[restrict H][W], float out[restrict H][W],
             float forward[restrict H][W], float backward[restrict H][W])
{
#pragma scop
    for (int i = 0; i < H; i++) {
        float x1 = 0, y1 = 0, y2 = 0; /* the last value of the image, the last two results */
        for (int j = 0; j < W; j++) {
            forward[i][j] = a1 * img[i][j] + a2 * x1 + b1 * y1 + b2 * y2;
            x1 = img[i][j];
            y2 = y1;
            y1 = forward[i][j];
        }
    }
    for (int i = 0; i < H; i++) {
        float x1 = 0, x2 = 0, y1 = 0, y2 = 0;
        for (int j = W - 1; j >= 0; j--) {
            backward[i][j] = a3 * x1 + a4 * x2 + b1 * y1 + b2 * y2;
            x2 = x1;
            x1 = img[i][j];
            y2 = y1;
            y1 = backward[i][j];
        }
    }
    for (int i = 0; i < H; i++)
        for (int j = 0; j < W; j++)
            out[i][j] = forward[i][j] + backward[i][j];
    for (int j = 0; j < W; j++) {
        float x1 = 0, y1 = 0, y2 = 0;
        for (int i = 0; i < H; i++) {
            forward[i][j] = a5 * out[i][j] + a6 * x1 + b1 * y1 + b2 * y2;
            x1 = out[i][j];
            y2 = y1;
            y1 = forward[i][j];
        }
    }
    for (int j = 0; j < W; j++) {
        float x1 = 0, x2 = 0, y1 = 0, y2 = 0;
        for (int i = H - 1; i >= 0; i--) {
            backward[i][j] = a7 * x1 + a8 * x2 + b1 * y1 + b2 * y2;
            x2 = x1;
            x1 = out[i][j];
            y2 = y1;
            y1 = backward[i][j];
        }
    }
    for (int i = 0; i < H; i++)
        for (int j = 0; j < W; j++)
            out[i][j] = forward[i][j] + backward[i][j];
#pragma endscop
}
