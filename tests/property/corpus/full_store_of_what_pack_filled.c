// compiler: compiler-failed: the C compiler failed
// sizes: {"N": 5}
// move: ["pack", ["in0"], {"at": "a0_1.i"}]
// move: ["store", ["in0"], {"at": "full", "fold": {"0": 9}, "extents": {"0": 9}}]

void random_113(int N, const float in0[restrict N], float a0[restrict N - 2])
{
    for (int i = 0; i < N - 2; i++)
        a0[i] = in0[i];
    for (int i = 0; i < N - 2; i++)
        if ((i) % 2 == 0)
            a0[i] += in0[i + 1] + 3 * in0[i] + (2 * i + 1);
    for (int i = 1; i < N - 2; i++)
        a0[i] = fminf(fmaxf(fminf(fmaxf(a0[i - 1], -50.0f), 50.0f) + fminf(fmaxf(a0[i], -50.0f), 50.0f), -50.0f), 50.0f);
}
