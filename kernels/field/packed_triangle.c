/* A square added to a packed upper triangle, column by column: the place goes on by what a column
   has more than the one before. */

#pragma polyopt inbounds

void packed_triangle(int n, const float bb[restrict n][n], float flat[restrict n * (n + 1) / 2])
{
#pragma scop
    for (int i = 0; i < n; i++) {
        int k = (i + 1) * i / 2 + i;
        for (int j = i; j < n; j++) {
            flat[k] += bb[j][i];
            k += j + 1;
        }
    }
#pragma endscop
}
