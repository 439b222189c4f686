// refusal: InternalError: isl failed in isl's search for last writes
// sizes: {"n": 7}
// move: ["split", ["r.i", 2], {}]
// move: ["unroll_and_jam", ["r.i_tile", 2], {}]

void last_even(int n, const double a[restrict n], double r[restrict 1])
{
    #pragma polyopt assume(n >= 1)
    for (int i = n - 1; i >= 0; i--)
        if (i % 2 == 0)
            r[0] = a[i];
}
