// wrong: a1[0, 2] is 36, not 3 (13 differ), for {'N': 6, 'M': 5} on 1 thread(s)
// sizes: {"N": 6, "M": 5}
// move: ["store", ["s1"], {"at": "a0.i"}]

void random_472(int N, int M, const float in0[restrict M + 1][M],
                const int in1[restrict N + 2][5], const float in2[restrict N + 2],
                int a1[restrict M][M - 2])
{
    int a0[M + 1][M - 1];
    for (int i = 0; i < M + 1; i++)
        for (int j = 0; j < M - 1; j++)
            a0[i][j] = in0[i][j] + fabsf(in0[i][j + 1]);
    for (int i = M - 1; i >= 0; i--)
        for (int j = M - 3; j >= 0; j--) {
            int s1 = 0;
            for (int l = 2; l >= 0; l--)
                s1 -= a0[i + 1][j];
            a1[i][j] = s1;
        }
}
