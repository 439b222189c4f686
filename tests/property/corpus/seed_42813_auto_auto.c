// auto: NotPermutableError: not-permutable: a0.j is not an innermost loop: only these are vectorised
// sizes: {"N": 4}
// move: ["auto", [], {}]

#include <math.h>
#include <stdint.h>

void random_42813(int N, const float in0[restrict N], float a1[restrict N - 2][N])
{
    float a0[N - 2][N + 1];
    for (int ii = 1; ii < N - 1; ii += 3)
        for (int i = ii; i < ii + 3 && i < N - 1; i++)
            for (int j = N; j >= 0; j--)
                a0[i - 1][j] = (in0[i] + in0[i + 1]) * in0[i - 1] + in0[i + 1];
    for (int i = 1; i < 1 + 3 && i < N - 2; i++)
        for (int j = 0; j < N + 1; j++)
            a0[i][j] = fminf(fmaxf(fminf(fmaxf(a0[i - 1][j], -50.0f), 50.0f) + fminf(fmaxf(a0[i][j], -50.0f), 50.0f), -50.0f), 50.0f);
    for (int i = 1 + 3; i < N - 2; i++)
        for (int j = 0; j < N + 1; j++)
            a0[i][j] = fminf(fmaxf(fminf(fmaxf(a0[i - 1][j], -50.0f), 50.0f) + fminf(fmaxf(a0[i][j], -50.0f), 50.0f), -50.0f), 50.0f);
    for (int i = 0; i < N - 2; i++)
        for (int j = 0; j < N; j++)
            a1[i][j] = a0[i][j + 1];
}
