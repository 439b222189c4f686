// refusal: InternalError: internal-error: isl failed in a step of the search: call to isl_pw_multi_aff_from_map failed: map is not single-valued in /project/isl/isl_aff.c:5125
// sizes: {}
// move: ["auto", [], {"target": "native", "tile": true}]

void random_100975(const double in0[restrict 5], double a2[restrict 3][6])
{
    double a0[3];
    double a1[3];
    for (int i = 2; i >= 0; i--)
        if ((i) % 2 == 0) {
            a0[i] = (in0[2 * i] < in0[i + 1] ? in0[2 * i] : 3) + in0[i + 1];
        } else {
            a0[i] = in0[i + 1];
        }
    for (int i = 2; i >= 0; i--)
        a1[i] = fmax(fabs(a0[i - 1 < 0 ? 0 : i - 1]), a0[i]) - (i + 1 < 3 ? a0[i + 1] : 0.0);
    double row2[7];
    for (int i = 0; i < 3; i++) {
        for (int j = 0; j < 7; j++)
            row2[j] = a1[i];
        for (int j = 5; j >= 0; j--)
            a2[i][j] = row2[j] + row2[j + 1];
    }
}
