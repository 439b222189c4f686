/* Every inc-th element from a first one on takes off what a counter that runs backwards finds. */

#pragma polyopt inbounds

void strided_update(int n, int count, int first, int inc, float a[restrict n],
                    const float b[restrict n])
{
    int i = first;

#pragma scop
    for (int k = 1; k <= count; k++) {
        a[i] += b[n - k];
        i += inc;
    }
#pragma endscop
}
