// auto: KeyError: 'in1_1'
// sizes: {"N": 1, "M": 1}
// form: python
// move: ["auto", [], {}]

void random_125759(int N, int M, int gain, const int in0[restrict 5][2 * N],
                   int in1[restrict M + 1][M + 2])
{
    for (int i = 0; i < M + 1; i++)
        for (int j = i - 3; j <= M - 2; j++)
            in1[i][j + 3] = 0 <= j + 2 && j + 2 < 2 * N ? in0[4][j + 2] : 0;
    for (int i = 0; i < M + 1; i++)
        for (int j = 0; j <= i && j <= M + 1; j++)
            in1[i][j] += in0[0][0];
}
