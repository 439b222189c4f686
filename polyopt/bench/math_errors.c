/* Errors and times of math functions in generated C, beside the C library's.
   Before this come the functions, and NUMBER, BITS, WIDE, DIGITS, LEAST, MOST: their type, its bits
   as an integer, the type of the reference, digits of the type, and its exponents. */
#define _GNU_SOURCE
#include <math.h>
#include <string.h>
#include <time.h>

#define LENGTH 4096
#define CAT(a, b) CAT_(a, b)
#define CAT_(a, b) a##b

static NUMBER number_of(BITS bits) {
    NUMBER x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

static BITS bits_of(NUMBER x) {
    BITS bits;
    memcpy(&bits, &x, sizeof bits);
    return x != x ? (BITS)-1 : bits;
}

/* how far a result is from the exact one, in units of the last place of that */
static double ulps(NUMBER y, WIDE exact) {
    const WIDE most = CAT(ldexp, WIDE_FORM)(1, MOST);
    if (exact != exact || y != y) {
        return exact != exact && y != y ? 0 : INFINITY;
    }
    if (exact == 0 && (y != 0 || !signbit(y) != !signbit(exact))) {
        return INFINITY;
    }
    const WIDE r = exact > most ? most : exact < -most ? -most : exact;
    const WIDE v = y > most ? most : y < -most ? -most : (WIDE)y;
    int e;
    CAT(frexp, WIDE_FORM)(r, &e);
    return (double)CAT(ldexp, WIDE_FORM)(CAT(fabs, WIDE_FORM)(v - r), DIGITS - (e < LEAST ? LEAST : e));
}

static uint64_t state = 88172645463325252u;
static uint64_t drawn(void) {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state;
}

/* a number of one kind: 0 of any bits, 1 of an exponent near 0, 2 close to 1, 3 a small whole one */
static NUMBER drawn_number(int kind) {
    const BITS bits = (BITS)drawn();
    const int exponent = (int)(drawn() % 24) - 16;
    switch (kind) {
    case 0:
        return number_of(bits);
    case 1:
        return (NUMBER)ldexp((double)(int64_t)drawn(), exponent - 60);
    case 2:
        return (NUMBER)(1 + ldexp((double)(int64_t)drawn(), exponent - 70));
    default:
        return (NUMBER)((int)(drawn() % 41) - 20) / 2;
    }
}

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

/* a multiplication and an addition behind: what a kernel has, and what compilers may join */
#define ONE(OWN, LIB, EXACT) \
static __attribute__((noinline)) void OWN##_row(int n, const NUMBER *restrict a, NUMBER *restrict o) { \
    _Pragma("omp simd") \
    for (int i = 0; i < n; i++) { o[i] = OWN(a[i]); } \
} \
static __attribute__((noinline)) void OWN##_library(int n, const NUMBER *restrict a, NUMBER *restrict o) { \
    for (int i = 0; i < n; i++) { o[i] = LIB(a[i]); } \
} \
static __attribute__((noinline)) NUMBER OWN##_one(NUMBER a) { return OWN(a); } \
static void OWN##_at(int n, const NUMBER *a, NUMBER *o, double *worst, NUMBER *where, uint64_t *digest) { \
    OWN##_row(n, a, o); \
    for (int i = 0; i < n; i++) { \
        *digest = (*digest ^ bits_of(o[i])) * 1099511628211u; \
        *digest += i % 64 == 0 && bits_of(OWN##_one(a[i])) != bits_of(o[i]); \
        const double error = worst ? ulps(o[i], EXACT((WIDE)a[i])) : 0; \
        if (worst && error > *worst) { *worst = error; *where = a[i]; } \
    } \
} \
/* over every step-th of all bits; for step 0 over count drawn ones */ \
uint64_t polyopt_sweep_##OWN(uint64_t step, uint64_t count, double *worst, NUMBER *where) { \
    static NUMBER a[LENGTH], o[LENGTH]; \
    uint64_t digest = 1469598103934665603u; \
    state = 88172645463325252u; \
    for (uint64_t i = 0; step ? i < (uint64_t)1 << 32 : i < count;) { \
        int n = 0; \
        for (; n < LENGTH && (step ? i < (uint64_t)1 << 32 : i < count); n++, i += step ? step : 1) { \
            a[n] = step ? number_of((BITS)i) : drawn_number(i % 3); \
        } \
        OWN##_at(n, a, o, worst, where, &digest); \
    } \
    return digest; \
} \
void polyopt_values_##OWN(int n, const NUMBER *a, NUMBER *o) { OWN##_row(n, a, o); } \
void polyopt_library_##OWN(int n, const NUMBER *a, NUMBER *o) { OWN##_library(n, a, o); } \
/* nanoseconds of an element, ours and the library's: the best of many rounds */ \
void polyopt_times_##OWN(int n, const NUMBER *a, NUMBER *o, int rounds, double *best) { \
    for (int r = 0; r < 2 * rounds; r++) { \
        const double start = now(); \
        (r % 2 ? OWN##_library : OWN##_row)(n, a, o); \
        const double t = (now() - start) / n; \
        best[r % 2] = r < 2 || t < best[r % 2] ? t : best[r % 2]; \
    } \
}

#define TWO(OWN, LIB, EXACT) \
static __attribute__((noinline)) void OWN##_row(int n, const NUMBER *restrict a, const NUMBER *restrict b, NUMBER *restrict o) { \
    _Pragma("omp simd") \
    for (int i = 0; i < n; i++) { o[i] = OWN(a[i], b[i]); } \
} \
static __attribute__((noinline)) void OWN##_library(int n, const NUMBER *restrict a, const NUMBER *restrict b, NUMBER *restrict o) { \
    for (int i = 0; i < n; i++) { o[i] = LIB(a[i], b[i]); } \
} \
static __attribute__((noinline)) NUMBER OWN##_one(NUMBER a, NUMBER b) { return OWN(a, b); } \
uint64_t polyopt_sweep_##OWN(uint64_t step, uint64_t count, double *worst, NUMBER *where) { \
    static NUMBER a[LENGTH], b[LENGTH], o[LENGTH]; \
    uint64_t digest = 1469598103934665603u; \
    state = 88172645463325252u; \
    (void)step; \
    for (uint64_t k = 0; k < count; k += LENGTH) { \
        for (int i = 0; i < LENGTH; i++) { \
            a[i] = drawn_number(drawn() % 4), b[i] = drawn_number(drawn() % 4); \
            if (i % 2) { a[i] = NUMBER_ABS(a[i]); b[i] *= number_of((BITS)((drawn() % 24 + BIAS - 4) << (DIGITS - 1))); } \
        } \
        OWN##_row(LENGTH, a, b, o); \
        for (int i = 0; i < LENGTH; i++) { \
            digest = (digest ^ bits_of(o[i])) * 1099511628211u; \
            digest += i % 64 == 0 && bits_of(OWN##_one(a[i], b[i])) != bits_of(o[i]); \
            const double error = worst ? ulps(o[i], EXACT((WIDE)a[i], (WIDE)b[i])) : 0; \
            if (worst && error > *worst) { *worst = error; where[0] = a[i]; where[1] = b[i]; } \
        } \
    } \
    return digest; \
} \
void polyopt_values_##OWN(int n, const NUMBER *a, const NUMBER *b, NUMBER *o) { OWN##_row(n, a, b, o); } \
void polyopt_library_##OWN(int n, const NUMBER *a, const NUMBER *b, NUMBER *o) { OWN##_library(n, a, b, o); } \
void polyopt_times_##OWN(int n, const NUMBER *a, const NUMBER *b, NUMBER *o, int rounds, double *best) { \
    for (int r = 0; r < 2 * rounds; r++) { \
        const double start = now(); \
        (r % 2 ? OWN##_library : OWN##_row)(n, a, b, o); \
        const double t = (now() - start) / n; \
        best[r % 2] = r < 2 || t < best[r % 2] ? t : best[r % 2]; \
    } \
}
