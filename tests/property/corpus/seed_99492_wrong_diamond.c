// wrong: a0[0, 0] is 161, not 163 (3 differ), for {'N': 1} on 1 thread(s)
// sizes: {"N": 1}
// form: python
// build: gcc -O3 -march=native -fopenmp
// move: ["interchange", ["a0.j", "a0.i"], {}]
// move: ["diamond", ["a0.j", "a0.i", 3], {}]

void random_99492(int N, const uint32_t in0[restrict N + 1],
                  const uint8_t in1[restrict N + 5][N + 2],
                  const uint32_t in2[restrict N + 1][N + 2], uint8_t a0[restrict N + 4][N])
{
    for (int i = 0; i < N + 4; i += 2)
        for (int j = 0; j < N; j++)
            a0[i][j] = ((0 <= j - 1 ? in1[i + 1][j - 1] : 0) - in1[i][j]) * in1[N - i + 4][j + 2] + (2 * j - i + 1);
}
