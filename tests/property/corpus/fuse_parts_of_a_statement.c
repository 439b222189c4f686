// refusal: InternalError: internal-error: isl failed in the move fuse: call to isl_map_intersect_domain failed: incompatible spaces in /project/isl/isl_map.c:8931
// sizes: {"M_n": 6}
// move: ["fuse_loops", ["q_a0.p_i", "q_a0_1.p_i"], {"depth": 1, "shift": 0}]
// move: ["split_range", ["q_in0.p_i"], {"at": "2 + floor((M_n)/2)"}]
// move: ["fuse", ["q_in0"], {"into": "q_a0", "at": null, "storage": "register", "keep": null}]

#include <math.h>
#include <stdint.h>

void random_108917(int M_n, int16_t q_in0[restrict M_n + 4][M_n + 2], int q_a1[restrict M_n + 2])
{
#pragma polyopt assume(M_n + 4 >= 1)
    int q_a0[M_n + 4 + 1];
    for (int p_i = 0; p_i < M_n + 4; p_i++)
        for (int z_j = p_i; z_j <= M_n + 1; z_j++)
            q_in0[p_i][z_j] = q_in0[M_n - p_i + 3][z_j] & 63;
    for (int p_i = M_n + 3; p_i >= 0; p_i--)
        q_a0[p_i] = 0;
    for (int p_i = M_n + 3; p_i >= 0; p_i--)
        for (int q_l = 0; q_l <= p_i && q_l <= M_n + 1; q_l++)
            q_a0[p_i] += q_in0[p_i][q_l];
}
