// frontend: NotDecidedError: <program>:4:1: not-decided: the lowering of random_104770: not decided within 540,000 isl operations
// sizes: {"N_n": 5, "M_n": 4}

#include <math.h>
#include <stdint.h>

void random_104770(int N_n, int M_n, const int q_in0[restrict M_n + 3],
                   const int8_t z_in1[restrict M_n][N_n + 3], const int8_t q_in2[restrict N_n + 2][8],
                   int8_t p_a0[restrict N_n + 1][7], int p_a1[restrict N_n + 1][5])
{
    for (int z_i = 0; z_i < N_n + 1; z_i += 2)
        for (int p_j = 0; p_j < 7; p_j++)
            p_a0[z_i][p_j] = q_in2[z_i + 1][-p_j + 7] / 2;
    for (int z_i = 1; z_i < N_n + 1; z_i += 2)
        for (int p_j = 0; p_j < 7; p_j++)
            p_a0[z_i][p_j] = 2 * q_in2[z_i + 1][p_j + 1] + q_in2[z_i + 1][p_j + 1] > 2 * z_i - p_j + 1 ? 2 * q_in2[z_i + 1][p_j + 1] + q_in2[z_i + 1][p_j + 1] : 2 * z_i - p_j + 1;
    for (int z_i = 0; z_i < N_n + 1; z_i++)
        for (int p_j = 0; p_j < 5; p_j++)
            p_a1[z_i][p_j] = p_a0[z_i][p_j + 2] + p_a0[z_i][p_j + 2] % 2;
    for (int z_i = 0; z_i < 0 + 1 && z_i < N_n + 1; z_i++)
        for (int p_j = z_i; p_j <= 4; p_j++)
            p_a1[z_i][p_j] = p_a1[z_i][p_j] > (p_a0[z_i][-p_j + 6] > (p_a0[N_n - z_i][p_j] < 0 ? -p_a0[N_n - z_i][p_j] : p_a0[N_n - z_i][p_j]) ? p_a0[z_i][-p_j + 6] : p_a0[N_n - z_i][p_j] < 0 ? -p_a0[N_n - z_i][p_j] : p_a0[N_n - z_i][p_j]) + p_a0[z_i][p_j] ? p_a1[z_i][p_j] : (p_a0[z_i][-p_j + 6] > (p_a0[N_n - z_i][p_j] < 0 ? -p_a0[N_n - z_i][p_j] : p_a0[N_n - z_i][p_j]) ? p_a0[z_i][-p_j + 6] : p_a0[N_n - z_i][p_j] < 0 ? -p_a0[N_n - z_i][p_j] : p_a0[N_n - z_i][p_j]) + p_a0[z_i][p_j];
    for (int p_ii = 0 + 1; p_ii < N_n + 1; p_ii += 2)
        for (int z_i = p_ii; z_i < p_ii + 2 && z_i < N_n + 1; z_i++)
            for (int p_j = z_i; p_j <= 4; p_j++)
                p_a1[z_i][p_j] = p_a1[z_i][p_j] > (p_a0[z_i][-p_j + 6] > (p_a0[N_n - z_i][p_j] < 0 ? -p_a0[N_n - z_i][p_j] : p_a0[N_n - z_i][p_j]) ? p_a0[z_i][-p_j + 6] : p_a0[N_n - z_i][p_j] < 0 ? -p_a0[N_n - z_i][p_j] : p_a0[N_n - z_i][p_j]) + p_a0[z_i][p_j] ? p_a1[z_i][p_j] : (p_a0[z_i][-p_j + 6] > (p_a0[N_n - z_i][p_j] < 0 ? -p_a0[N_n - z_i][p_j] : p_a0[N_n - z_i][p_j]) ? p_a0[z_i][-p_j + 6] : p_a0[N_n - z_i][p_j] < 0 ? -p_a0[N_n - z_i][p_j] : p_a0[N_n - z_i][p_j]) + p_a0[z_i][p_j];
}
