/* How many iterations each point of a Julia set takes to leave, with an exit as soon as it has. */

#pragma polyopt inbounds

void julia_escape(int H, int W, double cr, double ci, double step, int count[restrict H][W])
{
#pragma scop
    for (int y = 0; y < H; y++)
        for (int x = 0; x < W; x++) {
            double zr = (x - W / 2) * step, zi = (y - H / 2) * step;
            int k = 0;
            while (k < 50 && zr * zr + zi * zi < 4.0) {
                double t = zr * zr - zi * zi + cr;
                zi = 2.0 * zr * zi + ci;
                zr = t;
                k++;
            }
            count[y][x] = k;
        }
#pragma endscop
}
