/* Nussinov's folding of RNA: table[i][j] is the largest number of pairs of bases between i and j
   that do not cross. Bases are numbered so that those which pair add up to 3; neighbours do not
   pair. */

#define MAX(a, b) ((a) > (b) ? (a) : (b))
#define PAIR(a, b) ((a) + (b) == 3 ? 1 : 0)

void nussinov(int N, const int seq[restrict N], int table[restrict N][N])
{
#pragma scop
    for (int i = N - 1; i >= 0; i--)
        for (int j = i + 1; j < N; j++) {
            table[i][j] = MAX(table[i][j], table[i][j - 1]);
            table[i][j] = MAX(table[i][j], table[i + 1][j]);
            if (j > i + 1)
                table[i][j] = MAX(table[i][j], table[i + 1][j - 1] + PAIR(seq[i], seq[j]));
            for (int k = i + 1; k < j; k++)
                table[i][j] = MAX(table[i][j], table[i][k] + table[k + 1][j]);
        }
#pragma endscop
}
