// slow: isl found no end of its search for the least coefficients
// sizes: {}
// move: ["reschedule", [], {"fusion": "smart"}]

void random_10290(double gain, const double in0[restrict 6][5], const double in1[restrict 6][6],
                  double a1[restrict 6][6], double a2[restrict 5][5])
{
    double a0[6][6];
    for (int j = 0; j < 6; j++)
        for (int i = 5; i >= 0; i--)
            a0[i][j] = in1[i][j] + in1[i][j] + gain;
    for (int i = 0; i < 6; i++)
        for (int j = 0; j < 6; j++)
            a1[i][j] = (double)7;
    for (int i = 0; i < 6; i++)
        for (int j = 0; j < 6; j++)
            for (int k = 0; k < 3; k++)
                a1[i][j] += (a0[(i + k) / 2][j] < (0 <= k - 1 ? a0[k - 1][j] : 0.0) ? a0[(i + k) / 2][j] : 3) + (0 <= k - 1 ? a0[k - 1][j] : 0.0);
    for (int i = 4; i >= 0; i--)
        for (int j = 0; j < 5; j++)
            a2[i][j] = in0[i + 1][j] + floor(in0[i + 1][j] * 0.5) - in0[i + 1][j] + (i + j + 1);
}
