/* Each row of a three-dimensional array times a matrix, in place: A[r][q] = A[r][q] * C4. */

void doitgen(int R, int Q, int P, double A[restrict R][Q][P], const double C4[restrict P][P])
{
#pragma scop
    for (int r = 0; r < R; r++)
        for (int q = 0; q < Q; q++) {
            double sum[P];
            for (int p = 0; p < P; p++) {
                sum[p] = 0;
                for (int s = 0; s < P; s++)
                    sum[p] += A[r][q][s] * C4[s][p];
            }
            for (int p = 0; p < P; p++)
                A[r][q][p] = sum[p];
        }
#pragma endscop
}
