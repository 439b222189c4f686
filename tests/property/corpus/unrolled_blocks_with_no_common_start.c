// emit: Error: call to isl_ast_build_node_from_schedule failed: cannot find lower bound for unrolling in /project/isl/isl_ast_codegen.c:2575
// sizes: {"N": 6}
// move: ["separate_full_tiles", ["a0.j"], {}]
// move: ["unroll_and_jam", ["a0.i", 2], {}]

void random_300327(int N, const double in0[restrict N][6],
                   const double in1[restrict N + 1][N + 2], double a1[restrict N][4])
{
    double a0[N - 1][N + 2];
    for (int i = N - 2; i >= 0; i--)
        for (int j = 0; j < N + 2; j++)
            a0[i][j] = in1[i][j];
}
