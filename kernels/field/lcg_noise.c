/* Noise of a linear congruential generator added to a signal: one state, which goes on. */

void lcg_noise(int n, unsigned seed, float level, const float x[restrict n], float out[restrict n])
{
    unsigned state = seed;

    for (int i = 0; i < n; i++) {
        state = state * 1664525u + 1013904223u;
        out[i] = x[i] + level * ((float)(state >> 8) * (1.0f / 8388608.0f) - 1.0f);
    }
}
