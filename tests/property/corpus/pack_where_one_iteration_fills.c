// ended with status -7, for {} on 1 thread(s)
// sizes: {}
// move: ["pack", ["in1"], {"at": "a0_1.k"}]

void random_24(const double in0[restrict 6][6], const double in1[restrict 8][6][8],
               float a0[restrict 8][6][7])
{
    for (int i = 0; i < 8; i++)
        for (int j = 0; j < 6; j += 2)
            for (int k = 2; k < 9; k++)
                a0[i][j][k - 2] = in1[k - 1][j][k - 2] + -2 * (0 <= i - 1 ? in1[i - 1][j][k - 2] : 0.0) + in1[i][j][k - 1];
    for (int i = 0; i < 8; i++)
        for (int j = 1; j < 6; j += 2)
            for (int k = 2; k < 9; k++)
                a0[i][j][k - 2] = in1[i][j][k - 2] * in1[i - 1 < 0 ? 0 : i - 1][j][k - 1] + in1[7][(i) / 2][k - 1];
}
