#include <stdint.h>
__attribute__((always_inline))
static inline uint64_t bits_f64(double x) {
    uint64_t bits;
    __builtin_memcpy(&bits, &x, sizeof bits);
    return bits;
}

__attribute__((always_inline))
static inline double of_bits_f64(uint64_t bits) {
    double x;
    __builtin_memcpy(&x, &bits, sizeof x);
    return x;
}

/* a * b with its last bit cleared: no compiler joins it with an addition (fma), so that all give
   the same bits */
__attribute__((always_inline))
static inline double times_f64(double a, double b) {
    return of_bits_f64(bits_f64(a * b) & ~(uint64_t)1);
}

/* a or b, by bits: a condition that is the same for all lanes of a vector stays a number, where
   compilers have no vectors for choices by it */
__attribute__((always_inline))
static inline double chosen_f64(int condition, double a, double b) {
    const uint64_t mask = -(uint64_t)condition;
    return of_bits_f64((bits_f64(a) & mask) | (bits_f64(b) & ~mask));
}

/* the nearest whole number, for |x| < 2^51 */
__attribute__((always_inline))
static inline double whole_f64(double x) {
    return x + 0x1.8p52 - 0x1.8p52;
}

/* m of a positive normal x = 2^k m with least <= m < 2 least, where 1/2 < least <= 1 */
__attribute__((always_inline))
static inline double mantissa_f64(double x, double least, double *k) {
    const uint64_t bits = bits_f64(x) - bits_f64(least) + bits_f64(1.0);
    *k = of_bits_f64((bits >> 52) | bits_f64(0x1p52)) - (0x1p52 + 1023.0);
    return of_bits_f64((bits & 0xfffffffffffff) + bits_f64(least));
}

/* 2^n of a whole number -1022 <= n <= 1023: its exponent is put together from n's last bits */
__attribute__((always_inline))
static inline double power_of_2_f64(double n) {
    return of_bits_f64((bits_f64(n + 0x1.8p52) << 52) + bits_f64(1.0));
}

/* x with its last 27 bits cleared: the product of two such numbers is exact */
__attribute__((always_inline))
static inline double short_f64(double x) {
    return of_bits_f64(bits_f64(x) & ~(uint64_t)0x7ffffff);
}

/* a * b in two parts */
__attribute__((always_inline))
static inline double product_f64(double a, double b, double *low) {
    const double p = times_f64(a, b);
    const double a0 = short_f64(a), a1 = a - a0, b0 = short_f64(b), b1 = b - b0;
    *low = ((a0 * b0 - p) + a0 * b1 + a1 * b0) + times_f64(a1, b1);
    return p;
}

/* e^(r + s) - 1 - r for |r| <= 0.35 and a much smaller s: s + r s + r^2 / 2 + r^2 p(r), where p is
   a polynomial that makes the error least, 2^-57.9 of e^r (Remez, docs/coefficients.py) */
__attribute__((always_inline))
static inline double exp_rest_f64(double r, double s) {
    double p = 0x1.ad7bf6b745be0p-26;
    p = times_f64(p, r) + 0x1.28ad6c3235692p-22;
    p = times_f64(p, r) + 0x1.71df27b8a7b3ap-19;
    p = times_f64(p, r) + 0x1.a0199a1652298p-16;
    p = times_f64(p, r) + 0x1.a01a01292abbep-13;
    p = times_f64(p, r) + 0x1.6c16c18424efbp-10;
    p = times_f64(p, r) + 0x1.1111111127fa8p-7;
    p = times_f64(p, r) + 0x1.555555555089ep-5;
    p = times_f64(p, r) + 0x1.55555555554f9p-3;
    p = times_f64(p, r) + 0x1.4000000000000p-50;
    const double r0 = short_f64(r);
    const double rest = times_f64(0.5 * (r - r0), r + r0) + times_f64(r * r, p);
    return 0.5 * r0 * r0 + (s + (times_f64(r, s) + rest));
}

/* (1 + r + rest) 2^n, where n may be too small or too large for one power */
__attribute__((always_inline))
static inline double exp_scaled_f64(double r, double rest, double n) {
    const double one = 1.0 + r;
    const double value = one + (((1.0 - one) + r) + rest);
    const double half = whole_f64(0.5 * n);
    return value * power_of_2_f64(half) * power_of_2_f64(n - half);
}

/* (f + low) ln(2) = r + s, for |f| <= 1/2 and a much smaller low */
__attribute__((always_inline))
static inline double times_ln2_f64(double f, double low, double *s) {
    const double f0 = short_f64(f);
    const double high = f0 * 0x1.62e42f8000000p-1;
    const double rest = (f - f0) * 0x1.62e42f8000000p-1
        + (times_f64(f, 0x1.be8e7bcd5e4f2p-27) + times_f64(low, 0x1.62e42fefa39efp-1));
    const double r = high + rest;
    *s = (high - r) + rest;
    return r;
}

/* log2(x) in two parts, together of some 68 bits, for positive finite x. x = 2^k c (m / c) with
   c = 1 or 3/2; with s = (m - c) / (m + c), log(m / c) = 2 s (1 + z / 3 + z^2 p(z)) for z = s^2,
   where p is a polynomial of least error, 2^-71 (Remez, docs/coefficients.py) */
__attribute__((always_inline))
static inline double log2_parts_f64(double x, double *low) {
    const int tiny = x < 0x1p-1022;
    double k;
    const double m = mantissa_f64(tiny ? x * 0x1p54 : x, 0x1.bb67ae8584caap-1, &k);
    k -= tiny ? 54.0 : 0.0;
    const int upper = m > 0x1.3988e1409212ep+0;
    const double c = upper ? 1.5 : 1.0;
    const double f = m - c;
    const double d0 = m + c;
    const double d1 = (m - (d0 - (d0 - m))) + (c - (d0 - m));
    const double inverse = 1.0 / d0;
    double p1, z1, t1, u1, g1;
    const double s0 = times_f64(f, inverse);
    const double p0 = product_f64(s0, d0, &p1);
    const double s1 = times_f64(((f - p0) - p1) - times_f64(s0, d1), inverse);
    const double z0 = product_f64(s0, s0, &z1);
    double p = 0x1.1a92c8f81b27ap-4;
    p = times_f64(p, z0) + 0x1.3aede8481c9c5p-4;
    p = times_f64(p, z0) + 0x1.745d6303dac21p-4;
    p = times_f64(p, z0) + 0x1.c71c71773216bp-4;
    p = times_f64(p, z0) + 0x1.24924924a6f65p-3;
    p = times_f64(p, z0) + 0x1.999999999995ap-3;
    const double z2 = z1 + times_f64(2.0 * s0, s1);
    const double t0 = product_f64(z0, 0x1.5555555555555p-2, &t1);
    const double t2 = t1 + (times_f64(z2, 0x1.5555555555555p-2)
        + (times_f64(z0, 0x1.5555555555555p-56) + times_f64(z0 * z0, p)));
    const double u0 = product_f64(s0, t0, &u1);
    const double high = s0 + u0;
    const double rest = ((s0 - high) + u0) + (s1 + (u1 + (times_f64(s0, t2) + times_f64(s1, t0))));
    const double g0 = product_f64(high, 2.0 * 0x1.71547652b82fep+0, &g1);
    const double g2 = g1 + (times_f64(rest, 2.0 * 0x1.71547652b82fep+0)
        + times_f64(high, 2.0 * 0x1.777d0ffda0d24p-56));
    const double whole = k + (upper ? 0x1.2b803473f6000p-1 : 0.0);
    const double sum = whole + g0;
    const double more = ((whole - sum) + g0) + (g2 + (upper ? 0x1.ad0f3f4016241p-41 : 0.0));
    const double result = sum + more;
    *low = (sum - result) + more;
    return result;
}

/* x^y = 2^(y log2(|x|)), with log2 in two parts, and the sign and the ends that C (Annex F) gives
   it; error <= 0.85 ulp */
__attribute__((always_inline))
static inline double pow_f64(double x, double y) {
    const double a = __builtin_fabs(x), b = __builtin_fabs(y);
    double l1, p1, s;
    const double log = log2_parts_f64(a, &l1);
    const double v = chosen_f64(b > 0x1p66, __builtin_copysign(0x1p66, y), y);
    const double p0 = product_f64(v, log, &p1);
    const double more = p1 + times_f64(v, l1);
    const double inner = p0 > 1100.0 ? 1100.0 : p0 < -1100.0 ? -1100.0 : p0;
    const double outer = __builtin_copysign(1100.0, a > 1.0 ? y : -y);
    const double t = a > 0.0 && a < __builtin_inf() ? inner : a == a ? outer : a;
    const double n = whole_f64(t);
    const double r = times_ln2_f64(t - n, t == p0 ? more : 0.0, &s);
    const double value = exp_scaled_f64(r, exp_rest_f64(r, s), n);
    const double whole = chosen_f64(b < 0x1p52, b, 2.0);
    const double half = 0.5 * chosen_f64(b < 0x1p53, b, 4.0);
    const int is_whole = whole + 0x1p52 - 0x1p52 == whole;
    const int is_odd = is_whole & (half + 0x1p52 - 0x1p52 != half);
    const double negative = chosen_f64(is_odd, -value, value);
    const double broken = chosen_f64(is_whole, negative, __builtin_nan(""));
    const double below = x < 0.0 && a < __builtin_inf() ? broken : negative;
    const double found = __builtin_copysign(1.0, x) < 0.0 ? below : value;
    const double base = chosen_f64(b == __builtin_inf(), a, x);
    const double known = base == 1.0 ? 1.0 : chosen_f64(y == y, found, y);
    return chosen_f64(y == 0.0, 1.0, known);
}

void row(double*restrict o,const double*restrict a,const double*restrict g,long n){
#pragma omp simd
for(long i=0;i<n;i++)o[i]=pow_f64(a[i],g[i]);}