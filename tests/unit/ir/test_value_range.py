"""Ranges of integer expressions, against all values that Python's integers give."""

import itertools

import pytest

import polyopt as po
from polyopt.analysis.bounds import check_bounds
from polyopt.errors import OutOfBoundsError
from polyopt.ir import build
from polyopt.ir.types import I32


def c_quotient(x, y):
    return abs(x) // abs(y) * (1 if (x < 0) == (y < 0) else -1)


OPERATIONS = {
    "add": int.__add__, "sub": int.__sub__, "mul": int.__mul__, "min": min, "max": max,
    "and": int.__and__, "or": int.__or__, "xor": int.__xor__, "shr": int.__rshift__,
    "div": c_quotient, "mod": lambda x, y: x - c_quotient(x, y) * y,
    "floordiv": int.__floordiv__, "floormod": int.__mod__,
}  # fmt: skip
ENDS = (-9, -4, -1, 0, 1, 3, 6)
RANGES = [(low, high) for low in ENDS for high in ENDS if low <= high]


def between(low, high):
    data = build.load(I32, "a", ())
    upper = build.binary("min", data, build.const(I32, high))
    return build.binary("max", upper, build.const(I32, low))


def defined(op, y):
    return (y >= 0) if op == "shr" else (y != 0 or op not in {"div", "mod", "floordiv", "floormod"})


@pytest.mark.parametrize("op", OPERATIONS)
def test_all_values_of_an_operation_lie_in_its_range(op):
    exact = 0
    for (a, b), (c, d) in itertools.product(RANGES, RANGES):
        pairs = itertools.product(range(a, b + 1), range(c, d + 1))
        values = [OPERATIONS[op](x, y) for x, y in pairs if defined(op, y)]
        low, high = build.value_range(build.binary(op, between(a, b), between(c, d)))
        assert all(low <= value <= high for value in values), (op, (a, b), (c, d))
        exact += bool(values) and (low, high) == (min(values), max(values))
    assert exact > 9  # and not the type's


def test_negated_and_absolute_values():
    for a, b in RANGES:
        assert build.value_range(build.negate(between(a, b))) == (-b, -a)
        values = [abs(x) for x in range(a, b + 1)]
        found = build.value_range(build.call("abs", between(a, b)))
        assert found == (min(values), max(values))
    least = build.call("abs", build.load(I32, "a", ()))
    assert build.value_range(least) == I32.range  # of the least integer it is that again


@pytest.mark.parametrize(
    ("subscript", "extent"),
    [("c[i] & 7", 8), ("7 & c[i]", 8), ("u[i] % 8", 8), ("(unsigned char)c[i]", 256),
     ("((unsigned)c[i] >> 28)", 16), ("c[i] % 4 + 3", 7), ("(c[i] & 12) | 3", 16),
     ("c[i] < 0 ? 0 : c[i] & 3", 4), ("abs(c[i] % 5)", 5), ("(c[i] & 255) / 3", 86)],
)  # fmt: skip
def test_subscripts_that_arithmetic_bounds_need_no_pragma(subscript, extent):
    text = (
        "void f(int n, const int c[n], const unsigned u[n], const float tab[{}], float y[n])"
        " {{ for (int i = 0; i < n; i++) y[i] = tab[{}]; }}"
    )
    check_bounds(po.parse_c(text.format(extent, subscript)))
    with pytest.raises(OutOfBoundsError):
        check_bounds(po.parse_c(text.format(extent - 1, subscript)))
