// The C was read back with locals of 2^42 copies: a bound of a size's type was taken for a loop's.
// example: {"way": {"form": "kernel", "options": {"proof": true, "seed": 9716, "plan": "moves", "auto": {}}, "calls": [["parallelize", ["exp1.abort"], {}], ["store", ["j0"], {"fold": {"0": 8}}], ["fuse_loops", ["omp_lock_t.sqrt", "exp1.lambdainside"], {"depth": 1, "shift": 3}], ["unroll", ["exp1.lambdainside", 4], {}], ["tile", ["k8"], {"lambdainside_unrolled": 7, "lambdainside": 7}]]}, "build": [], "seed": 9716, "program": {"name": "p9716", "parameters": [{"name": "A4", "key": "i32", "kind": "size", "extents": [], "into": null, "aliases": false, "spelling": ""}, {"name": "exp", "key": "u64", "kind": "size", "extents": [], "into": null, "aliases": false, "spelling": ""}, {"name": "part", "key": "i32", "kind": "size", "extents": [], "into": null, "aliases": false, "spelling": ""}, {"name": "thread_local", "key": "i16", "kind": "scalar", "extents": [], "into": null, "aliases": false, "spelling": ""}, {"name": "lambda", "key": "u32", "kind": "scalar", "extents": [], "into": null, "aliases": false, "spelling": ""}, {"name": "omp_lock_t", "key": "u8", "kind": "array", "extents": [["exp", 3, 1]], "into": null, "aliases": true, "spelling": "unsigned char"}, {"name": "omp_get_max_threads", "key": "u8", "kind": "array", "extents": [["part", 0, 1]], "into": null, "aliases": true, "spelling": "unsigned char"}, {"name": "E", "key": "i32", "kind": "array", "extents": [["A4", 3, 2], ["", 1, 1]], "into": null, "aliases": true, "spelling": "int"}, {"name": "exp1", "key": "u8", "kind": "array", "extents": [["A4", 1, 2], ["exp", 3, 1]], "into": null, "aliases": true, "spelling": "unsigned char"}], "file_names": ["b__"], "headers": false, "wild": false, "fixed": {}, "depth": 3}}

#define imin(a, b) ((a) < (b) ? (a) : (b))
#define MAX(a, b) ((a) > (b) ? (a) : (b))
static inline unsigned char b__(char bcopy, unsigned long bcopy_1)
{
    float free = (bcopy_1 >> 5) - (bcopy ^ bcopy_1);
    return (free <= bcopy_1 && free <= 2 ? free : bcopy_1) * (free + -6364136223846793005ULL) > -1 && (free <= bcopy_1 && free <= 2 ? free : bcopy_1) * (free + -6364136223846793005ULL) < 255 ? (unsigned char)((free <= bcopy_1 && free <= 2 ? free : bcopy_1) * (free + -6364136223846793005ULL)) : 7;
}
void p9716(signed A4, unsigned long long exp, signed part, short thread_local, unsigned lambda, unsigned char omp_lock_t[exp + 3], const unsigned char omp_get_max_threads[part], const int E[2 * A4 + 3][1], unsigned char exp1[2 * A4 + 1][exp + 3])
{
    unsigned long long sqrt;
    short int abortabort;
#pragma scop
    for (sqrt = 0; sqrt < exp; sqrt = sqrt + 4) {
        const double j0 = (int)'a' + (sqrt + (sqrt + 1 < 2 * A4 + 3 ? E[sqrt + 1][0] : 1));
        int k8 = b__(exp1[0][sqrt], E[2][0]);
        omp_lock_t[sqrt] = !(sqrt != A4 / 2 ? omp_get_max_threads[0] : k8);
    }
    for (unsigned int lambdainside = 0; lambdainside + 1 < A4; lambdainside += 2)
        for (unsigned int abort = 0; exp > abort; abort++) {
            exp1[2 * lambdainside + 2][abort] = 2;
            for (abortabort = abort; abortabort < exp; abortabort++) {
                exp1[2 * lambdainside + 2][abort] += (lambdainside < part ? lambda : E[2 * lambdainside + 2][0]) * (abortabort <= A4 - 1 ? lambdainside : -6) * (abortabort <= part / 2 ? A4 : exp1[2 * lambdainside][abortabort + 3]);
            }
        }
#pragma endscop
}
