/* The cheapest way down a grid of costs: from each cell straight or diagonally to the next row. The
   results of one row become the sources of the next. */

#define MIN(a, b) ((a) <= (b) ? (a) : (b))

void pathfinder(int rows, int cols, const int wall[restrict rows][cols], int dst[restrict cols])
{
    int src[cols];
    int n, t, min;

#pragma scop
    for (n = 0; n < cols; n++)
        dst[n] = wall[0][n];
    for (t = 0; t < rows - 1; t++) {
        for (n = 0; n < cols; n++)
            src[n] = dst[n];
        for (n = 0; n < cols; n++) {
            min = src[n];
            if (n > 0)
                min = MIN(min, src[n - 1]);
            if (n < cols - 1)
                min = MIN(min, src[n + 1]);
            dst[n] = wall[t + 1][n] + min;
        }
    }
#pragma endscop
}
