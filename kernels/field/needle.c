/* Global alignment of Needleman and Wunsch, the upper left triangle by antidiagonals, then the
   lower right one. The table's border holds what gaps cost. */

#define LIMIT -999

static int maximum(int a, int b, int c)
{
    int k;
    if (a <= b)
        k = b;
    else
        k = a;
    if (k <= c)
        return c;
    else
        return k;
}

void needle(int cols, int penalty, const int reference[restrict cols][cols],
            int items[restrict cols][cols])
{
    int i, idx;

#pragma scop
    for (i = 0; i < cols - 1; i++) {
        for (idx = 0; idx <= i; idx++) {
            int y = idx + 1;
            int x = i + 1 - idx;
            items[y][x] = maximum(items[y - 1][x - 1] + reference[y][x],
                                  items[y][x - 1] - penalty, items[y - 1][x] - penalty);
        }
    }
    for (i = cols - 3; i >= 0; i--) {
        for (idx = 0; idx <= i; idx++) {
            int y = cols - idx - 1;
            int x = idx + cols - i - 1;
            items[y][x] = maximum(items[y - 1][x - 1] + reference[y][x],
                                  items[y][x - 1] - penalty, items[y - 1][x] - penalty);
        }
    }
#pragma endscop
}
