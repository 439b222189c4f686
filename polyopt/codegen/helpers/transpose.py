"""C that turns rows into columns in vector registers, a square of lanes at a time.

``transposed_f32(from, 100, to, 60, rows, columns)`` is ``to[60 * c + r] = from[100 * r + c]`` for
``r < rows`` and ``c < columns``, both at most ``SIDE``.

AVX-512 interleaves elements of two vectors, or quarters of them: four such steps transpose a
square of 16 vectors, where element by element each takes a load and a store of its own. AVX does
so for squares of 8 in three. Without them, this is a plain loop.
"""

from __future__ import annotations

from polyopt.codegen.helpers.nontemporal import INTRINSICS

#: rows and columns at most
SIDE = 16
#: bits of the elements that are moved in registers
BITS = 32

_SQUARE = """\
static inline void transposed_f32(const float *from, int64_t from_step, float *to, int64_t to_step,
    int64_t rows, int64_t columns)
{
#ifdef __AVX512F__
    const __mmask16 wide = (__mmask16)((1u << columns) - 1), high = (__mmask16)((1u << rows) - 1);
    __m512 a[16], b[16];
    for (int k = 0; k < 16; k++) {
        const float *row = from + k * from_step;
        a[k] = k >= rows ? _mm512_setzero_ps()
            : columns < 16 ? _mm512_maskz_loadu_ps(wide, row) : _mm512_loadu_ps(row);
    }
    for (int k = 0; k < 16; k += 2) {
        b[k] = _mm512_unpacklo_ps(a[k], a[k + 1]);
        b[k + 1] = _mm512_unpackhi_ps(a[k], a[k + 1]);
    }
    for (int k = 0; k < 16; k += 4) {
        for (int h = 0; h < 2; h++) {
            const __m512d one = _mm512_castps_pd(b[k + h]), two = _mm512_castps_pd(b[k + h + 2]);
            a[k + 2 * h] = _mm512_castpd_ps(_mm512_unpacklo_pd(one, two));
            a[k + 2 * h + 1] = _mm512_castpd_ps(_mm512_unpackhi_pd(one, two));
        }
    }
    for (int k = 0; k < 4; k++) {
        for (int h = 0; h < 16; h += 8) {
            b[k + h] = _mm512_shuffle_f32x4(a[k + h], a[k + h + 4], 0x88);
            b[k + h + 4] = _mm512_shuffle_f32x4(a[k + h], a[k + h + 4], 0xdd);
        }
    }
    for (int k = 0; k < 8; k++) {
        a[k] = _mm512_shuffle_f32x4(b[k], b[k + 8], 0x88);
        a[k + 8] = _mm512_shuffle_f32x4(b[k], b[k + 8], 0xdd);
    }
    for (int k = 0; k < 16; k++) {
        if (k < columns && rows < 16) {
            _mm512_mask_storeu_ps(to + k * to_step, high, a[k]);
        } else if (k < columns) {
            _mm512_storeu_ps(to + k * to_step, a[k]);
        }
    }
#elif defined(__AVX__)
    int64_t high = 0, wide = 0;
    for (; high + 8 <= rows; high += 8) {
        for (wide = 0; wide + 8 <= columns; wide += 8) {
            __m256 a[8], b[8];
            for (int k = 0; k < 8; k++) {
                a[k] = _mm256_loadu_ps(from + (high + k) * from_step + wide);
            }
            for (int k = 0; k < 8; k += 2) {
                b[k] = _mm256_unpacklo_ps(a[k], a[k + 1]);
                b[k + 1] = _mm256_unpackhi_ps(a[k], a[k + 1]);
            }
            for (int k = 0; k < 8; k += 4) {
                for (int h = 0; h < 2; h++) {
                    a[k + 2 * h] = _mm256_shuffle_ps(b[k + h], b[k + h + 2], 0x44);
                    a[k + 2 * h + 1] = _mm256_shuffle_ps(b[k + h], b[k + h + 2], 0xee);
                }
            }
            for (int k = 0; k < 4; k++) {
                b[k] = _mm256_permute2f128_ps(a[k], a[k + 4], 0x20);
                b[k + 4] = _mm256_permute2f128_ps(a[k], a[k + 4], 0x31);
            }
            for (int k = 0; k < 8; k++) {
                _mm256_storeu_ps(to + (wide + k) * to_step + high, b[k]);
            }
        }
    }
    for (int64_t c = 0; c < columns; c++) {
        for (int64_t r = c < wide ? high : 0; r < rows; r++) {
            to[c * to_step + r] = from[r * from_step + c];
        }
    }
#else
    for (int64_t c = 0; c < columns; c++) {
        for (int64_t r = 0; r < rows; r++) {
            to[c * to_step + r] = from[r * from_step + c];
        }
    }
#endif
}
"""
TRANSPOSED = f"#ifdef __AVX__\n{INTRINSICS}#endif\n\n{_SQUARE}"
