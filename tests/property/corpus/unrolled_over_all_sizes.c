// Error: call to isl_ast_build_node_from_schedule failed: cannot find lower bound for unrolling in /project/isl/isl_ast_codegen.c:2575
// sizes: {"N": 5}
// move: ["unroll", ["a0.i", 4], {}]
// move: ["interchange", ["a0.i_unrolled", "a0.i"], {}]

void random_22(int N, float gain, const int in0[restrict N + 5], int a0[restrict N + 5])
{
    for (int i = N + 4; i >= 0; i--)
            a0[i] -= in0[i];
}
