/* The solution y of the Yule-Walker equations, T y = -r, by the recursion of Levinson and Durbin: T
   is the symmetric Toeplitz matrix with ones on its diagonal and r beside it. */

void durbin(int N, const double r[restrict N], double y[restrict N])
{
    double z[N]; /* the solution of one equation less, reversed and added */

#pragma scop
    double alpha = -r[0];
    double beta = 1;
    y[0] = -r[0];
    for (int k = 1; k < N; k++) {
        beta = (1 - alpha * alpha) * beta;
        double sum = 0;
        for (int i = 0; i < k; i++)
            sum += r[k - i - 1] * y[i];
        alpha = -(r[k] + sum) / beta;
        for (int i = 0; i < k; i++)
            z[i] = y[i] + alpha * y[k - i - 1];
        for (int i = 0; i < k; i++)
            y[i] = z[i];
        y[k] = alpha;
    }
#pragma endscop
}
