"""Subscripts from data, compared where they are used: nothing is written outside of an array."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import polyopt as po
from polyopt.codegen.emit import emit
from polyopt.codegen.validate.translation import check_code
from polyopt.errors import ArgumentError, InternalError


def histogram(keys, bins):
    counts = np.zeros(bins, dtype=np.int64)
    for i in range(keys.shape[0]):
        counts[keys[i]] += 1
    return counts


def weighted(keys, weights, bins):
    sums = np.zeros(bins)
    for i in range(keys.shape[0]):
        sums[keys[i]] += weights[i]
    return sums


def of_image(image, bins):
    counts = np.zeros(bins, dtype=np.int32)
    for y in range(image.shape[0]):
        for x in range(image.shape[1]):
            counts[image[y, x]] += 1
    return counts


def rows(keys, table):
    sums = np.zeros((5, table.shape[1]))
    for i in range(keys.shape[0]):
        for j in range(table.shape[1]):
            sums[keys[i], j] += table[i, j]
    return sums


def two(keys, n, m):
    one = np.zeros(n)
    other = np.zeros(m)
    for i in range(keys.shape[0]):
        one[keys[i]] += 1
        other[keys[i]] += 2
    return one, other


def in_place(keys, counts):
    for i in range(keys.shape[0]):
        counts[keys[i]] += 1


def scaled(keys, bins):
    counts = np.zeros(bins)
    for i in range(keys.shape[0]):
        counts[keys[i]] += keys[i]
    return counts


KEYS = np.array([3, 0, 3, 1, 4, 4, 0, 3, 2, 1])
WEIGHTS = np.linspace(0, 1, 10)
#: function, arguments, and how many of its index arrays the C checks itself
CASES = {
    "histogram": (histogram, (KEYS, 5), 1),
    "weighted": (weighted, (KEYS, WEIGHTS, 5), 1),
    "of 32 bits": (histogram, (KEYS.astype(np.int32), 5), 1),
    "without a sign": (histogram, (KEYS.astype(np.uint32), 5), 1),
    "an image": (of_image, (KEYS.reshape(2, 5), 5), 1),
    "rows, in lanes": (rows, (KEYS, np.arange(30.0).reshape(10, 3)), 0),
    "two targets": (two, (KEYS, 5, 7), 0),
    "in place": (in_place, (KEYS, np.zeros(5)), 0),
    "read as numbers, too": (scaled, (KEYS, 5), 0),
}


@pytest.mark.parametrize(("function", "arguments", "checked"), CASES.values(), ids=CASES)
def test_where_subscripts_are_checked(function, arguments, checked):
    compiled = po.jit(fallback=False)(function)
    mine = [a.copy() if isinstance(a, np.ndarray) else a for a in arguments]
    theirs = [a.copy() if isinstance(a, np.ndarray) else a for a in arguments]
    found, expected = compiled(*mine), function(*theirs)
    np.testing.assert_equal(found, expected)
    np.testing.assert_equal(mine, theirs)
    program = compiled.kernel.program
    assert len(program.checked_indices) == checked
    assert program.source.count("return 8;") == checked
    assert compiled.kernel.proof


@pytest.mark.parametrize("place", [0, 4, 9])
@pytest.mark.parametrize(("function", "arguments", "checked"), CASES.values(), ids=CASES)
def test_an_element_outside_is_named(function, arguments, checked, place):
    compiled = po.jit(fallback=False)(function)
    keys = arguments[0].copy()
    values = (5,) if keys.dtype.kind == "u" else (5, -1, np.iinfo(keys.dtype).min)
    for value in values:
        bad = keys.copy()
        bad.flat[place] = value
        before = [a.copy() if isinstance(a, np.ndarray) else a for a in arguments[1:]]
        at = ", ".join(map(str, np.unravel_index(place, bad.shape)))
        name = "image" if function is of_image else "keys"
        with pytest.raises(ArgumentError) as error:
            compiled(bad, *before)
        assert str(error.value).startswith(f"bad-argument: {name}[{at}] is {value}, but the elem")
        assert "has 5" in str(error.value)
        assert "every element has to be from 0 to 4" in str(error.value)
        np.testing.assert_equal(before, arguments[1:])


def scatter(keys, out):
    out[:] = 0
    for i in range(keys.shape[0]):
        out[keys[i]] += 1


def test_nothing_is_written_beyond_an_array():
    """The memory around a result is another array's."""
    around = np.full(30, 7.0)
    function = po.jit(fallback=False)(scatter)
    function(KEYS, np.zeros(5))
    assert len(function.kernel.program.checked_indices) == 1
    kernel = function.kernel
    for value in (5, 6, -1, -9, 2**40):
        bad = KEYS.copy()
        bad[7] = value
        with pytest.raises(ArgumentError, match=r"keys\[7\] is"):
            kernel.run_named({"keys": bad, "out": around[10:15]})
        assert (around[:10] == 7).all()
        assert (around[15:] == 7).all()


def test_a_call_that_was_bound_finds_what_has_changed_since():
    function = po.jit(fallback=False)(histogram)
    function(KEYS, 5)
    keys = KEYS.copy()
    with pytest.raises(ArgumentError, match=r"keys\[0\] is 9"):
        function.kernel.bind(keys=np.where(np.arange(10) == 0, 9, keys), bins=5)
    call = function.kernel.bind(keys=keys, bins=5)
    call()
    keys[3] = 77
    with pytest.raises(ArgumentError, match="chooses one outside of another array"):
        call()


def test_python_runs_a_call_that_is_refused():
    function = po.jit(scatter)
    keys, out = KEYS.copy(), np.full(5, 9.0)
    keys[2] = -1  # Python's last element
    with pytest.warns(po.FallbackWarning, match=r"keys\[2\] is -1"):
        function(keys, out)
    expected = np.empty(5)
    scatter(keys, expected)
    np.testing.assert_equal(out, expected)


GUARD = "            if ((uint64_t)keys[i] >= (uint64_t)bins) {\n                return 8;\n            }\n"
USE = "            counts[keys[i]] = counts[keys[i]] + 1;\n"
WRONG = {
    "left out": (GUARD, ""),
    "after the use": (GUARD + USE, USE + GUARD),
    "of the next element": ("(uint64_t)keys[i] >=", "(uint64_t)keys[i + 1] >="),
    "one too many": ("(uint64_t)bins)", "(uint64_t)bins + 1)"),
    "another size": ("(uint64_t)bins)", "(uint64_t)keys_0)"),
    "only above": (">= (uint64_t)bins", "> (uint64_t)bins"),
    "with a sign": ("(uint64_t)keys[i]", "(int64_t)keys[i]"),
    "as a success": ("return 8;", "return 0;"),
    "for want of memory": ("return 8;", "return 1;"),
    "and more": (
        "                return 8;",
        "                counts[0] = 1;\n                return 8;",
    ),
    "with an effect": ("(uint64_t)bins)", "(uint64_t)(bins = bins))"),
    "twice, of another": (GUARD, GUARD + GUARD.replace("keys[i]", "keys[0]")),
}


@pytest.mark.parametrize("change", WRONG.values(), ids=WRONG)
def test_wrong_checks_are_found_in_the_text(change):
    function = po.jit(fallback=False)(histogram)
    function(KEYS, 5)
    plan = function.plan
    program = emit(plan.program)
    check_code(plan.scop, program)
    assert program.source.count(change[0]) == 1
    wrong = replace(program, source=program.source.replace(*change))
    with pytest.raises((InternalError, po.errors.UserError)):
        check_code(plan.scop, wrong)
