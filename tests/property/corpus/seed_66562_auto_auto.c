// auto: NotPermutableError: not-permutable: q_a0.z_j is not an innermost loop: only these are vectorised
// sizes: {"N_n": 4}
// move: ["auto", [], {}]

#include <math.h>
#include <stdint.h>

void random_66562(int N_n, const float p_in0[restrict N_n + 4][N_n + 1], float q_a1[restrict N_n + 3][N_n])
{
    float q_a0[N_n + 4][N_n - 1];
    for (int q_ii = 0; q_ii < 0 + 1 && q_ii < N_n + 4; q_ii += 4)
        for (int q_i = q_ii; q_i < q_ii + 4 && q_i < 0 + 1 && q_i < N_n + 4; q_i++)
            for (int z_j = N_n - 2; z_j >= 0; z_j--)
                q_a0[q_i][z_j] = p_in0[q_i][z_j] - p_in0[q_i][z_j + 1] + p_in0[N_n - q_i + 3][z_j + 1];
    for (int q_i = 0 + 1; q_i < N_n + 4; q_i++)
        for (int z_j = N_n - 2; z_j >= 0; z_j--)
            q_a0[q_i][z_j] = p_in0[q_i][z_j] - p_in0[q_i][z_j + 1] + p_in0[N_n - q_i + 3][z_j + 1];
    for (int q_i = N_n + 3; q_i >= 0; q_i--)
        for (int z_j = 1; z_j < N_n - 1; z_j++)
            q_a0[q_i][z_j] = fminf(fmaxf(fminf(fmaxf(q_a0[q_i][z_j - 1], -50.0f), 50.0f) + fminf(fmaxf(q_a0[q_i][z_j], -50.0f), 50.0f), -50.0f), 50.0f);
    for (int q_i = N_n + 2; q_i >= 0; q_i--)
        for (int z_j = 0; z_j < N_n; z_j++)
            q_a1[q_i][z_j] = (p_in0[q_i][z_j] < p_in0[N_n + 3][z_j] ? p_in0[q_i][z_j] : 3) + p_in0[N_n + 3][z_j];
}
