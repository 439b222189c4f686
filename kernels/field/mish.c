/* The activation mish, x tanh(log(1 + exp(x))), of large and small numbers alike. */
#include <math.h>

void mish(int n, const float x[restrict n], float out[restrict n])
{
    for (int i = 0; i < n; i++) {
        float softplus = x[i] > 20.0f ? x[i] : logf(1.0f + expf(x[i]));
        out[i] = x[i] * tanhf(softplus);
    }
}
