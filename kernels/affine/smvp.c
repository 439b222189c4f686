/* A sparse symmetric matrix of 3 x 3 blocks times a vector, as finite elements have it: of each row
   the blocks from the diagonal on are stored, and each counts for its mirror image, too. */

#pragma polyopt inbounds
#pragma polyopt assume(M >= N)

void smvp(int N, int M, const double A[restrict M][3][3], const int col[restrict M],
          const int start[restrict N + 1], const double v[restrict N][3], double w[restrict N][3])
{
#pragma scop
    for (int i = 0; i < N; i++) {
        int at = start[i];
        int last = start[i + 1];
        double sum0 = A[at][0][0] * v[i][0] + A[at][0][1] * v[i][1] + A[at][0][2] * v[i][2];
        double sum1 = A[at][1][0] * v[i][0] + A[at][1][1] * v[i][1] + A[at][1][2] * v[i][2];
        double sum2 = A[at][2][0] * v[i][0] + A[at][2][1] * v[i][1] + A[at][2][2] * v[i][2];
        at++;
        while (at < last) {
            int j = col[at];
            sum0 += A[at][0][0] * v[j][0] + A[at][0][1] * v[j][1] + A[at][0][2] * v[j][2];
            sum1 += A[at][1][0] * v[j][0] + A[at][1][1] * v[j][1] + A[at][1][2] * v[j][2];
            sum2 += A[at][2][0] * v[j][0] + A[at][2][1] * v[j][1] + A[at][2][2] * v[j][2];
            w[j][0] += A[at][0][0] * v[i][0] + A[at][1][0] * v[i][1] + A[at][2][0] * v[i][2];
            w[j][1] += A[at][0][1] * v[i][0] + A[at][1][1] * v[i][1] + A[at][2][1] * v[i][2];
            w[j][2] += A[at][0][2] * v[i][0] + A[at][1][2] * v[i][1] + A[at][2][2] * v[i][2];
            at++;
        }
        w[i][0] += sum0;
        w[i][1] += sum1;
        w[i][2] += sum2;
    }
#pragma endscop
}
