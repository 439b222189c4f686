/* The Mandelbrot set: of 64 iterations, how many each point of the plane stays near. All of them
   are done: a point that has left stops counting. */

void mandelbrot(int H, int W, float left, float top, float step, int count[restrict H][W])
{
    for (int y = 0; y < H; y++)
        for (int x = 0; x < W; x++) {
            float cr = left + step * x, ci = top + step * y;
            float zr = 0, zi = 0;
            int n = 0;
            for (int k = 0; k < 64; k++) {
                float r2 = zr * zr, i2 = zi * zi;
                if (r2 + i2 <= 4.0f) {
                    zi = 2.0f * zr * zi + ci;
                    zr = r2 - i2 + cr;
                    n++;
                }
            }
            count[y][x] = n;
        }
}
