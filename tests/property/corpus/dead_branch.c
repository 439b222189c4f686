// emit: InternalError: internal-error: isl failed in the C of random_106403: call to isl_ast_build_expr_from_pw_aff failed: cannot handle void expression in /project/isl/isl_ast_build_expr.c:2267
// sizes: {}
// form: python
// move: ["tile", ["a0_0"], {"i": 3}]
// move: ["unroll", ["a0.i", 0], {}]

#include <math.h>
#include <stdint.h>

void random_106403(double gain, const double in0[restrict 5], double a0[restrict 3])
{
    for (int i = 1; i < 4; i++)
        if (i - 1 < 3) {
            a0[i - 1] = fmin(in0[i], fabs(in0[i]));
        } else {
            a0[i - 1] = fabs(in0[i]);
        }
}
