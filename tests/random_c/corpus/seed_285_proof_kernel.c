// proof: InternalError: internal-error: the C of p285 computes another va_list at static_assertstatic_assert = 1, lambda = 0
// example: {"way": {"form": "kernel", "options": {"proof": true, "seed": 285, "plan": "auto", "auto": {"target": "generic", "tile": true}}, "calls": [["inline", ["time"], {}], ["distribute", ["va_list.c1"], {"at": "va_list_1"}], ["unroll_and_jam", ["va_list.c1", 8], {}], ["separate_full_tiles", ["va_list.c1_jam"], {}], ["parallelize", ["i1.BUFSIZ"], {}], ["parallelize", ["va_list.c12"], {}], ["parallelize", ["va_list.c1_jam"], {}]]}, "build": [], "seed": 285, "program": {"name": "p285", "parameters": [{"name": "static_assertstatic_assert", "key": "i32", "kind": "size", "extents": [], "into": null, "aliases": false}, {"name": "lambda", "key": "u64", "kind": "size", "extents": [], "into": null, "aliases": false}, {"name": "with", "key": "u64", "kind": "array", "extents": [["static_assertstatic_assert", 0, 1], ["static_assertstatic_assert", 1, 1]], "into": null, "aliases": true}, {"name": "i1", "key": "i32", "kind": "array", "extents": [["", 7, 1], ["static_assertstatic_assert", 0, 1]], "into": null, "aliases": true}, {"name": "va_list", "key": "f32", "kind": "array", "extents": [["static_assertstatic_assert", 0, 1]], "into": null, "aliases": true}, {"name": "lambda_0", "key": "u16", "kind": "scalar", "extents": [], "into": null, "aliases": false}, {"name": "typeof_unqual", "key": "f32", "kind": "array", "extents": [["static_assertstatic_assert", 2, 1], ["lambda", 3, 1]], "into": null, "aliases": true}], "file_names": ["static_assert"], "headers": false, "wild": false, "fixed": {}, "depth": 2}}

 static_assert( char free, short FP_ZERO)
{
    return FP_ZERO;
}
void p285(signed static_assertstatic_assert, unsigned long lambda, unsigned long with[static_assertstatic_assert][static_assertstatic_assert + 1], int i1[7][static_assertstatic_assert], float va_list[static_assertstatic_assert], unsigned short lambda_0, const float typeof_unqual[static_assertstatic_assert + 2][lambda + 3])
{
#pragma scop
    for (unsigned long long BUFSIZ = 0; 6 > BUFSIZ; BUFSIZ += 1) {
        for (int assert = 1; static_assertstatic_assert > assert; assert += 1) {
            signed time = static_assert(lambda_0, with[assert / 2][assert - 1]);
            if (!((assert + BUFSIZ) % 2 != 1 || BUFSIZ != lambda / 2)) {
                i1[BUFSIZ][assert - 1] = (assert <= lambda - 1 && 2147483648u == va_list[static_assertstatic_assert - 1 - assert] ? static_assert(lambda_0, static_assertstatic_assert) : assert < lambda / 2 && BUFSIZ != static_assertstatic_assert ? typeof_unqual[assert - 1][1] : i1[BUFSIZ][assert - 1]) > -1000 && (assert <= lambda - 1 && 2147483648u == va_list[static_assertstatic_assert - 1 - assert] ? static_assert(lambda_0, static_assertstatic_assert) : assert < lambda / 2 && BUFSIZ != static_assertstatic_assert ? typeof_unqual[assert - 1][1] : i1[BUFSIZ][assert - 1]) < 1000 ? (signed)(assert <= lambda - 1 && 2147483648u == va_list[static_assertstatic_assert - 1 - assert] ? static_assert(lambda_0, static_assertstatic_assert) : assert < lambda / 2 && BUFSIZ != static_assertstatic_assert ? typeof_unqual[assert - 1][1] : i1[BUFSIZ][assert - 1]) : 1;
            }
        }
    }
    for (unsigned int c1 = 0; static_assertstatic_assert > c1; ++c1) {
        va_list[c1] = 3;
        for (short int va_listva_list = 0; (int)lambda - 1 > va_listva_list; va_listva_list++)
            va_list[c1] += !(static_assertstatic_assert < with[c1][c1 + 1] ? static_assertstatic_assert : with[c1][c1 + 1]);
    }
#pragma endscop
}
