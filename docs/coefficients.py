"""Coefficients of the math functions in generated C: polynomials of least error, by Remez.

``python docs/coefficients.py`` writes ``polyopt/codegen/helpers/math/coefficients.py``.
"""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import TYPE_CHECKING

from mpmath import (
    atanh,
    cos,
    erf,
    erfc,
    exp,
    floor,
    frexp,
    ldexp,
    log,
    lu_solve,
    matrix,
    mp,
    mpf,
    pi,
    sin,
    sqrt,
    tanh,
)
from numpy import float32

if TYPE_CHECKING:
    from collections.abc import Callable

mp.dps = 60
#: where errors are looked at
_POINTS = 1200
#: below this, quotients are their limits: numbers have 60 digits
_SMALL = 1e-25
#: and where powers are taken away from it first
_SMALL_64 = 1e-15
#: intervals are that much wider than arguments are
_WIDER = mpf("1.0001")
#: keeps weights from being nothing at 0
_LEAST = mpf(10) ** -9
_PLACE = Path(__file__).parents[1] / "polyopt/codegen/helpers/math/coefficients.py"
#: the module's head
_HEAD = [
    '"""Coefficients of math functions in C, constant terms first: from docs/coefficients.py."""',
    "\n\n",
    "#: name -> coefficients, for functions of f32\nF32 = {\n",
]


def remez(
    function: Callable, low: float, high: float, degree: int, weight: Callable | None = None
) -> list:
    """The coefficients for which the largest error times weight is least; by default relative."""
    weight = weight or (lambda x: 1 / function(x))
    count = degree + 1
    middle, half = (mpf(low) + mpf(high)) / 2, (mpf(high) - mpf(low)) / 2
    points = [middle - half * cos(pi * k / count) for k in range(count + 1)]
    grid = [middle - half * cos(pi * k / _POINTS) for k in range(_POINTS + 1)]
    known = [(function(x), weight(x)) for x in grid]
    found: list = []
    for _ in range(12):
        system, right = matrix(count + 1, count + 1), matrix(count + 1, 1)
        for row, x in enumerate(points):
            for column in range(count):
                system[row, column] = weight(x) * x**column
            system[row, count] = (-1) ** row
            right[row] = weight(x) * function(x)
        solved = lu_solve(system, right)
        found = [solved[k] for k in range(count)]
        errors = [w * (v - _value(found, x)) for x, (v, w) in zip(grid, known, strict=True)]
        runs = itertools.groupby(range(len(grid)), key=lambda k: errors[k] > 0)
        peaks = [max(run, key=lambda k: abs(errors[k])) for _, run in runs]
        if len(peaks) <= count:
            break
        while len(peaks) > count + 1:
            del peaks[0 if abs(errors[peaks[0]]) < abs(errors[peaks[-1]]) else -1]
        points = [grid[k] for k in peaks]
        heights = [abs(errors[k]) for k in peaks]
        if max(heights) < 1.02 * min(heights):
            break
    return found


def _value(coefficients: list, x: mpf) -> mpf:
    result = mpf(0)
    for coefficient in reversed(coefficients):
        result = result * x + coefficient
    return result


def exp2_less_1(r: mpf) -> mpf:
    """(2^r - 1) / r."""
    return (mpf(2) ** r - 1) / r if abs(r) > _SMALL else log(2)


def log2_of_ratio(z: mpf) -> mpf:
    """log2((1 + s) / (1 - s)) / s, by z = s^2."""
    s = sqrt(abs(z))
    return log((1 + s) / (1 - s)) / s / log(2) if s > _SMALL else 2 / log(2)


def erf_exponent(x: mpf) -> mpf:
    """q where erf(x) = 1 - 2^(-x q)."""
    return -log(erfc(x)) / log(2) / x if x > _SMALL else 2 / sqrt(pi) / log(2)


def erf_weight(x: mpf) -> mpf:
    """How much of an error of q is a relative error of erf."""
    return log(2) * x * erfc(x) / erf(x) if x > _SMALL else 1 / erf_exponent(mpf(0))


def sine(z: mpf) -> mpf:
    """sin(pi/2 f) / f, by z = f^2."""
    f = sqrt(abs(z))
    return sin(pi / 2 * f) / f if f > _SMALL else pi / 2


def cosine(z: mpf) -> mpf:
    """cos(pi/2 f), by z = f^2."""
    return cos(pi / 2 * sqrt(abs(z)))


#: the largest of ((m - 1) / (m + 1))^2 for 1/sqrt(2) <= m <= sqrt(2)
_MOST_Z = ((sqrt(2) - 1) / (sqrt(2) + 1)) ** 2


def f32() -> dict[str, list]:
    """Those of the functions of f32."""
    return {
        "exp2": remez(exp2_less_1, -0.5, 0.5, 6),
        "log2": remez(log2_of_ratio, 0, _MOST_Z, 4),
        "erf": remez(erf_exponent, 0, 4, 9, erf_weight),
        "sin": remez(sine, 0, 0.2501, 4),
        "cos": remez(cosine, 0, 0.2501, 4),
    }


def exp_less_2(r: mpf) -> mpf:
    """(e^r - 1 - r) / r^2."""
    return (exp(r) - 1 - r) / r**2 if abs(r) > _SMALL_64 else mpf(1) / 2


def log_of_ratio_less_2(z: mpf) -> mpf:
    """(log((1 + s) / (1 - s)) / s - 2) / z, by z = s^2."""
    s = sqrt(abs(z))
    return (log((1 + s) / (1 - s)) / s - 2) / z if z > _SMALL_64 else mpf(2) / 3


def atanh_less_2(z: mpf) -> mpf:
    """((atanh(s) / s - 1) / z - 1/3) / z, by z = s^2."""
    s = sqrt(abs(z))
    return ((atanh(s) / s - 1) / z - mpf(1) / 3) / z if z > _SMALL_64 else mpf(1) / 5


def erf_near_0(w: mpf) -> mpf:
    """erf(x) / x, by w = x^2 - 3/4."""
    x = sqrt(abs(w + mpf(3) / 4))
    return erf(x) / x if x > _SMALL else 2 / sqrt(pi)


def erfcx(u: mpf) -> mpf:
    """erfc(x) e^(x^2), by u = (x - 9/8) / (x + 2)."""
    x = (mpf(9) / 8 + 2 * u) / (1 - u)
    return erfc(x) * exp(x * x)


def erfcx_weight(u: mpf) -> mpf:
    """How much of an error of it is one of erf; a little more, where that is nothing."""
    x = (mpf(9) / 8 + 2 * u) / (1 - u)
    return exp(-x * x) + mpf(2) ** -45


def f64() -> dict[str, list]:
    """Those of the functions of f64."""
    half = log(2) / 2 * _WIDER
    first, *others = remez(erf_near_0, -0.75, 0.53, 13)
    ratio = ((sqrt(mpf(3) / 2) - 1) / (sqrt(mpf(3) / 2) + 1)) ** 2 * _WIDER
    return {
        "exp": remez(exp_less_2, -half, half, 9, lambda r: (r * r + _LEAST) / exp(r)),
        "log": remez(log_of_ratio_less_2, 0, _MOST_Z * _WIDER, 6, lambda z: z / 2 + _LEAST),
        "pow": remez(atanh_less_2, 0, ratio, 5, lambda z: z * z + _LEAST),
        "erf": [first, first - mpf(float(first)), *others],
        "erfcx": remez(erfcx, 0, mpf(39) / 64, 12, erfcx_weight),
    }


def constants() -> dict[str, str]:
    """Constants in parts: ``name_0`` has so many bits, ``name_1`` and ``name_2`` what is left."""
    made = {}
    for name, value, widths in (
        ("ln2", log(2), (42, 42)),
        ("ln2_short", log(2), (26,)),
        ("log2e", 1 / log(2), (26, 53)),
        ("log2e_long", 1 / log(2), (53,)),
        ("third", mpf(1) / 3, (53,)),
        ("log2_of_1_5", log(mpf(3) / 2) / log(2), (40,)),
    ):
        rest = value
        for place, width in enumerate(widths):
            exponent = frexp(rest)[1]
            part = ldexp(floor(ldexp(rest, width - exponent)), exponent - width)
            made[f"{name}_{place}"] = float(part).hex()
            rest -= part
        made[f"{name}_{len(widths)}"] = float(rest).hex()
    return made


def erf_less_1(z: mpf) -> mpf:
    """erf(x) / x - 1, by z = x^2."""
    x = sqrt(abs(z))
    return erf(x) / x - 1 if x > _SMALL else 2 / sqrt(pi) - 1


def erf_less_1_weight(z: mpf) -> mpf:
    """How much of an error of it is a relative error of erf."""
    return 1 / (1 + erf_less_1(z))


def erfc_exponent(x: mpf) -> mpf:
    """q where erf(x) = 1 - e^(-x q), for x far from 0."""
    return -log(erfc(x)) / x


def tanh_less_1(z: mpf) -> mpf:
    """(tanh(x) / x - 1) / z, by z = x^2."""
    x = sqrt(abs(z))
    return (tanh(x) / x - 1) / z if z > _SMALL_64 else -mpf(1) / 3


def tanh_less_1_weight(z: mpf) -> mpf:
    """How much of an error of it is a relative error of tanh; a little more, where that is none."""
    return (z + _LEAST) / (1 + z * tanh_less_1(z))


def floats() -> dict[str, list]:
    """Those of the functions of f32 that are worked out in floats."""
    half = log(2) / 2 * _WIDER
    return {
        "exp": remez(exp_less_2, -half, half, 4, lambda r: (r * r + _LEAST) / exp(r)),
        "erf": remez(erf_less_1, 0, _WIDER, 6, erf_less_1_weight),
        "erfc": remez(erfc_exponent, 1, 4, 5, lambda x: x * erfc(x) / erf(x)),
        "tanh": remez(tanh_less_1, 0, _WIDER, 6, tanh_less_1_weight),
    }


def constants_f32() -> dict[str, float]:
    """ln(2) in two parts, the first of 15 bits, so that products with 9 bits are exact, and in two
    parts of all bits of a float."""
    short = ldexp(floor(ldexp(log(2), 15)), -15)
    whole = float32(float(log(2)))
    return {
        "ln2_short_0": short,
        "ln2_short_1": log(2) - short,
        "ln2_0": whole,
        "ln2_1": log(2) - mpf(float(whole)),
        "log2e": 1 / log(2),
    }


def two_over_pi_f32() -> list[list]:
    """2/pi 2^(8 i - 54) without multiples of 4, in parts of 22, 22 and 53 bits."""
    rows = []
    with mp.workprec(2000):
        for i in range(20):
            whole = 2 / pi * mpf(2) ** (8 * i - 54)
            rest = whole - 4 * floor(whole / 4)
            exponent = frexp(whole)[1]
            last = 20 if exponent > 2 else 22 - exponent
            high = ldexp(floor(ldexp(rest, last)), -last)
            middle = ldexp(floor(ldexp(rest - high, last + 22)), -last - 22)
            rows.append((high, middle, rest - high - middle))
        return [list(part) for part in zip(*rows, strict=True)]


def _numbers(values: list, indent: str) -> str:
    return "".join(f'{indent}"{float(value).hex()}",\n' for value in values)


def _float(value: mpf) -> str:
    """A float as C has it."""
    digits, power = float(float32(float(value))).hex().split("p")
    return f"{digits.rstrip('0')}p{power}f".replace(".p", ".0p")


def text() -> str:
    """The module."""
    lines = [*_HEAD]
    for name, values in f32().items():
        lines.append(f'    "{name}": (\n{_numbers(values, " " * 8)}    ),\n')
    lines.append("}\n#: the same for functions of f64\nF64 = {\n")
    for name, values in f64().items():
        lines.append(f'    "{name}": (\n{_numbers(values, " " * 8)}    ),\n')
    lines.append("}\n#: the same for functions of f32 that are worked out in floats\nFLOATS = {\n")
    for name, values in floats().items():
        shown = "".join(f'        "{_float(value)}",\n' for value in values)
        lines.append(f'    "{name}": (\n{shown}    ),\n')
    lines.append("}\n#: constants of those\nCONSTANTS_F32 = {\n")
    lines += [f'    "{name}": "{_float(value)}",\n' for name, value in constants_f32().items()]
    lines.append("}\n#: constants in parts, the first of them of few bits\nCONSTANTS = {\n")
    lines += [f'    "{name}": "{value}",\n' for name, value in constants().items()]
    lines.append("}\n#: parts of 2/pi by exponents of floats\nTWO_OVER_PI_F32 = (\n")
    lines += [f"    (\n{_numbers(part, ' ' * 8)}    ),\n" for part in two_over_pi_f32()]
    return "".join([*lines, ")\n"])


if __name__ == "__main__":
    _PLACE.write_text(text(), encoding="utf-8")
