/* The positive elements, one after the other, and how many there are. */

#pragma polyopt inbounds

void compress_positive(int n, const float b[restrict n], float a[restrict n], int count[restrict 1])
{
    int j = 0;

#pragma scop
    for (int i = 0; i < n; i++)
        if (b[i] > 0.0f) {
            a[j] = b[i];
            j++;
        }
    count[0] = j;
#pragma endscop
}
