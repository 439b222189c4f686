/* Random numbers of many generators at once, three steps of each. */
#include <stdint.h>

void xorshift(int n, uint32_t state[restrict n], float out[restrict n][3])
{
    for (int i = 0; i < n; i++) {
        uint32_t x = state[i];
        for (int k = 0; k < 3; k++) {
            x ^= x << 13;
            x ^= x >> 17;
            x ^= x << 5;
            out[i][k] = (float)(x >> 8) * (1.0f / 16777216.0f);
        }
        state[i] = x;
    }
}
