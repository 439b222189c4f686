/* An image resized to any other size, bilinear, as one loop nest with clamped neighbours. */
#include <math.h>

void resize_nearby(int H, int W, int h, int w, const float img[restrict H][W],
    float out[restrict h][w])
{
    for (int y = 0; y < h; y++)
        for (int x = 0; x < w; x++) {
            float fy = (y + 0.5f) * H / h - 0.5f, fx = (x + 0.5f) * W / w - 0.5f;
            int y0 = (int)floorf(fy), x0 = (int)floorf(fx);
            float wy = fy - y0, wx = fx - x0;
            int y1 = y0 + 1, x1 = x0 + 1;
            if (y0 < 0) y0 = 0; else if (y0 > H - 1) y0 = H - 1;
            if (y1 < 0) y1 = 0; else if (y1 > H - 1) y1 = H - 1;
            if (x0 < 0) x0 = 0; else if (x0 > W - 1) x0 = W - 1;
            if (x1 < 0) x1 = 0; else if (x1 > W - 1) x1 = W - 1;
            float top = img[y0][x0] + wx * (img[y0][x1] - img[y0][x0]);
            float bottom = img[y1][x0] + wx * (img[y1][x1] - img[y1][x0]);
            out[y][x] = top + wy * (bottom - top);
        }
}
