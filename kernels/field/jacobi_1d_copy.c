/* T steps of Jacobi's relaxation on a line, each copied back. */

void jacobi_1d_copy(int T, int N, double a[restrict N], double b[restrict N])
{
    for (int t = 0; t < T; t++) {
        for (int i = 1; i < N - 1; i++)
            b[i] = 0.33333 * (a[i - 1] + a[i] + a[i + 1]);
        for (int i = 1; i < N - 1; i++)
            a[i] = b[i];
    }
}
