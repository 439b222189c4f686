/* Lengths of the shortest paths between all pairs of N nodes, in the place of the lengths of the
   edges. */

void floyd_warshall(int N, int path[restrict N][N])
{
#pragma scop
    for (int k = 0; k < N; k++)
        for (int i = 0; i < N; i++)
            for (int j = 0; j < N; j++)
                path[i][j] = path[i][j] < path[i][k] + path[k][j] ? path[i][j]
                                                                  : path[i][k] + path[k][j];
#pragma endscop
}
