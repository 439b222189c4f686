"""C that looks many places up in a short table, by permuting lanes of registers.

``lookup_f32(table, length, at, found, n)`` is ``found[k] = table[at[k]]`` for ``0 <= k < n``,
where each place is at least 0 and below ``length``, a constant where the call is inlined.

AVX-512 chooses from 32 words, 64 half-words or 128 bytes at once, AVX2 from 8 words; longer tables
take one such choice per part. Without them, this is a plain loop.
"""

from __future__ import annotations

from string import Template
from typing import TYPE_CHECKING

from polyopt.codegen.helpers.nontemporal import INTRINSICS
from polyopt.ir.types import I16, I32

if TYPE_CHECKING:
    from collections.abc import Iterable

    from polyopt.ir.types import ScalarType

#: bits of an element -> the longest table that permutations look up faster than loads
LONGEST = {8: 2048, 16: 512, 32: 128}
#: bits of an element -> what compilers define where the processor permutes them by data
_FEATURE = {8: "__AVX512VBMI__", 16: "__AVX512BW__", 32: "__AVX512VL__"}
#: the same, where any of these functions is defined
_PERMUTES = {
    bits: f"defined({name})" + " || defined(__AVX2__)" * (bits == I32.bits)
    for bits, name in _FEATURE.items()
}
#: of AVX2: a table of 16 words takes a fourth of the time of loads, one of 64 as long (measured on
#: an AMD EPYC of its second generation)
_LONGEST_OF_EIGHTS = 64
_HEADER = f"#if defined(__AVX512F__) || defined(__AVX2__)\n{INTRINSICS}#endif\n"

#: for elements of so many bits: full vectors without masks, which loads would have to wait for
_PERMUTE = """#ifdef $feature
static inline __mmask$lanes lanes_$lanes(int64_t n) {
    return n <= 0 ? 0 : n < $lanes ? (__mmask$lanes)(((__mmask$lanes)1 << n) - 1) \
: (__mmask$lanes)-1;
}

$chosen
static inline void permute_$bits(const void *table, int64_t length, const $place *at, void *found,
    int64_t n)
{
    const $element *row = table;
    $element *to = found;
    int64_t k = 0;
$short    for (; k + $lanes <= n; k += $lanes) {
        _mm512_storeu_si512(to + k, chosen_$bits(row, length, $loaded));
    }
    if (k < n) {
        const __mmask$lanes used = lanes_$lanes(n - k);
        _mm512_mask_storeu_epi$bits(to + k, used, chosen_$bits(row, length, $masked));
    }
}
$eights#endif
"""
#: words alone: lanes of fewer bits do not cross halves of a register
_EIGHTS = """\
#elif defined(__AVX2__)
static inline __m256i chosen_32(const int32_t *row, int64_t length, __m256i place) {
    const __m256i lanes = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
    __m256i value = place;
    for (int64_t t = 0; t < length; t += 8) {
        const __m256i used = _mm256_cmpgt_epi32(_mm256_set1_epi32((int32_t)(length - t)), lanes);
        const __m256i words = length - t < 8 ? _mm256_maskload_epi32(row + t, used)
            : _mm256_loadu_si256((const __m256i *)(row + t));
        const __m256i here = _mm256_permutevar8x32_epi32(words, place);
        const __m256i beyond = _mm256_cmpgt_epi32(place, _mm256_set1_epi32((int32_t)t - 1));
        value = t == 0 ? here : _mm256_blendv_epi8(value, here, beyond);
    }
    return value;
}

static inline void permute_32(const void *table, int64_t length, const int32_t *at, void *found,
    int64_t n)
{
    const int32_t *row = table;
    int32_t *to = found;
    int64_t k = 0;
    if (length <= $longest) {
        for (; k + 8 <= n; k += 8) {
            const __m256i place = _mm256_loadu_si256((const __m256i *)(at + k));
            _mm256_storeu_si256((__m256i *)(to + k), chosen_32(row, length, place));
        }
    }
    for (; k < n; k++) {
        to[k] = row[at[k]];
    }
}
"""
_CHOSEN = """\
static inline __m512i chosen_$bits(const $element *row, int64_t length, __m512i place) {
    __m512i value = place;
    for (int64_t t = 0; t < length; t += 2 * $lanes) {
        const __mmask$lanes rest = lanes_$lanes(length - t - $lanes);
        const __m512i low = _mm512_maskz_loadu_epi$bits(lanes_$lanes(length - t), row + t);
        const __m512i high = _mm512_maskz_loadu_epi$bits(rest, row + t + $lanes);
        const __m512i here = _mm512_permutex2var_epi$bits(low, place, high);
        const __mmask$lanes beyond = _mm512_cmpge_epi${bits}_mask(place, _mm512_set1_epi$bits(t));
        value = t == 0 ? here : _mm512_mask_mov_epi$bits(value, beyond, here);
    }
    return value;
}
"""
#: places in rows of bytes have 16 bits: the low ones permute, the others tell the part
_CHOSEN_BYTES = """static inline __m512i bytes_of(__m512i one, __m512i two) {
    const __m512i low = _mm512_castsi256_si512(_mm512_cvtepi16_epi8(one));
    return _mm512_inserti64x4(low, _mm512_cvtepi16_epi8(two), 1);
}

static inline __m512i chosen_8(const $element *row, int64_t length, __m512i one, __m512i two) {
    const __m512i place = bytes_of(one, two);
    const __m512i part = bytes_of(_mm512_srli_epi16(one, 7), _mm512_srli_epi16(two, 7));
    __m512i value = place;
    for (int64_t t = 0; t < length; t += 128) {
        const __m512i low = _mm512_maskz_loadu_epi8(lanes_64(length - t), row + t);
        const __m512i high = _mm512_maskz_loadu_epi8(lanes_64(length - t - 64), row + t + 64);
        const __m512i here = _mm512_permutex2var_epi8(low, place, high);
        const __mmask64 beyond = _mm512_cmpge_epu8_mask(part, _mm512_set1_epi8(t / 128));
        value = t == 0 ? here : _mm512_mask_mov_epi8(value, beyond, here);
    }
    return value;
}
"""
#: rows of a few words often change after eight places
_SHORT_WORDS = """    if (length <= 16 && n == 8) {
        const __m256i low = _mm256_maskz_loadu_epi32(lanes_16(length), row);
        const __m256i high = _mm256_maskz_loadu_epi32(lanes_16(length - 8), row + 8);
        const __m256i place = _mm256_loadu_si256((const __m256i *)at);
        _mm256_storeu_si256(found, _mm256_permutex2var_epi32(low, place, high));
        return;
    }
"""
_LOADED = "_mm512_loadu_si512(at + k)"
_MASKED = "_mm512_maskz_loadu_epi$bits(used, at + k)"
_LOADED_BYTES = "_mm512_loadu_si512(at + k), _mm512_loadu_si512(at + k + 32)"
_MASKED_BYTES = (
    "_mm512_maskz_loadu_epi16((__mmask32)used, at + k),\n"
    "            _mm512_maskz_loadu_epi16((__mmask32)(used >> 32), at + k + 32)"
)
_LOOKUP = """static inline void lookup_$kind(const $type *table, int64_t length, const $place *at,
    $type *found, int64_t n)
{
#if $permutes
    permute_$bits(table, length, at, found, n);
#else
    (void)length;
    for (int64_t k = 0; k < n; k++) {
        found[k] = table[at[k]];
    }
#endif
}
"""


def place_type(element: ScalarType) -> ScalarType:
    """The type of places in a table of such elements."""
    return I32 if element.bits == I32.bits else I16


def is_short(element: ScalarType, length: int) -> bool:
    """Whether a table of so many elements is looked up in registers."""
    return 0 < length <= LONGEST.get(element.bits, 0)


def lookup_functions(elements: Iterable[ScalarType]) -> str:
    """Definitions of ``lookup_KIND`` for these types of elements; may be empty."""
    elements = tuple(elements)
    if not elements:
        return ""
    by_width = {element.bits: element for element in elements}
    parts = [_HEADER]
    parts += [_permute(bits, by_width[bits]) for bits in sorted(by_width)]
    parts += [_filled(_LOOKUP, element) for element in elements]
    return "\n".join(parts)


def _permute(bits: int, element: ScalarType) -> str:
    byte = bits < I16.bits
    parts = {
        "chosen": _CHOSEN_BYTES if byte else _CHOSEN,
        "short": _SHORT_WORDS if bits == I32.bits else "",
        "eights": _EIGHTS if bits == I32.bits else "",
        "loaded": _LOADED_BYTES if byte else _LOADED,
        "masked": _MASKED_BYTES if byte else _MASKED,
    }
    return _filled(_PERMUTE, element, **{mark: _filled(t, element) for mark, t in parts.items()})


def _filled(text: str, element: ScalarType, **parts: str) -> str:
    bits = element.bits
    return Template(text).substitute(
        parts,
        feature=_FEATURE[bits],
        permutes=_PERMUTES[bits],
        longest=_LONGEST_OF_EIGHTS,
        bits=bits,
        lanes=512 // bits,
        element=f"int{bits}_t",
        place=place_type(element).c_name,
        kind=element.name,
        type=element.c_name,
    )
