// refusal: InternalError: internal-error: isl failed in the move fuse: call to isl_map_from_union_map failed: union map needs to contain elements in exactly one space in /project/isl/isl_union_map.c:781
// sizes: {"M": 1}
// move: ["fuse", ["in0"], {"into": "a0", "at": "a0.i", "storage": "scratch", "keep": null}]

void random_6838(int M, float gain, float in0[restrict M][M + 5],
                 float a0[restrict M - 1][M + 5])
{
    for (int i = 0; i < M; i++)
        for (int j = 0; j < M + 5; j++)
            if (j < 3)
                in0[i][j] = fminf(fmaxf(in0[i][M + 4], -50.0f), 50.0f);
    for (int j = 0; j < M + 5; j++)
        for (int i = 0; i < M - 1; i++)
            a0[i][j] = (0 <= i - 1 && 0 <= j - 1 ? in0[i - 1][j - 1] : 0.0f) + in0[i][i + 2];
}
