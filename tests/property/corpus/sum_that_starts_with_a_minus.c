// a1[0, 1] is 1, not 4 (3 differ), for {'N': 1} on 1 thread(s)
// sizes: {"N": 1}
// move: ["fuse", ["a0"], {"into": "a1", "storage": "scratch", "keep": true}]

void random_47(int N, const int in0[restrict N + 4], const int in1[restrict N + 5],
               const int16_t in2[restrict N + 5][N + 4], int a1[restrict N + 1][N + 4])
{
    int a0[N + 3][N + 4];
    for (int i = 0; i < N + 3; i++)
        for (int j = N + 2; j >= 0; j -= 2)
            a0[i][j] = ((in2[i + 1][j] / 3 > in2[i + 1][i + 1] ? in2[i + 1][j] / 3 : in2[i + 1][i + 1]) + in0[i + 1] % 2) * (i + j + 1);
    for (int i = 0; i < N + 3; i++)
        for (int j = N + 3; j >= 0; j -= 2)
            a0[i][j] = ((0 <= j - 1 ? in2[i + 1][j - 1] : 0) / 2 < in2[j][j] ? (0 <= j - 1 ? in2[i + 1][j - 1] : 0) / 2 : in2[j][j]) + (in2[i][j] < 0 ? -in2[i][j] : in2[i][j]);
    for (int i = N; i >= 0; i--)
        for (int j = 0; j < N + 4; j++)
            a1[i][j] = a0[i + 1][j] / 3 + a0[i + 1][j];
}
