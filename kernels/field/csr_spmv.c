/* A sparse matrix in compressed rows times a vector. */

#pragma polyopt inbounds

void csr_spmv(int N, int M, const int start[restrict N + 1], const int col[restrict M],
              const double value[restrict M], const double x[restrict N], double y[restrict N])
{
#pragma scop
    for (int i = 0; i < N; i++) {
        double sum = 0;
        for (int k = start[i]; k < start[i + 1]; k++)
            sum += value[k] * x[col[k]];
        y[i] = sum;
    }
#pragma endscop
}
