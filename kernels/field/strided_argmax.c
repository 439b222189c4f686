/* The greatest magnitude among every inc-th element, and which of them it is. */

#pragma polyopt inbounds

void strided_argmax(int n, int inc, const float a[restrict n * inc], float best[restrict 1],
                    int index[restrict 1])
{
    int k = 0;
    int at = 0;

#pragma scop
    float max = a[0] < 0.0f ? -a[0] : a[0];
    k += inc;
    for (int i = 1; i < n; i++) {
        float magnitude = a[k] < 0.0f ? -a[k] : a[k];
        if (magnitude > max) {
            at = i;
            max = magnitude;
        }
        k += inc;
    }
    best[0] = max;
    index[0] = at;
#pragma endscop
}
