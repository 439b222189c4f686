"""What is worked out before a loop gets a name only where it is an operand."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from polyopt.codegen.ctext import with_name

#: Python's binary operators that bind as C's do, by level
LEVELS = {"|": 6, "^": 7, "&": 8, "<<": 11, "+": 12, "-": 12, "*": 13}


@pytest.mark.parametrize(
    ("text", "expression", "expected"),
    [
        ("a[x + 1]", "x + 1", "a[n]"),
        ("2 * j - x + 1", "x + 1", "2 * j - x + 1"),
        ("2 * j - (int32_t)(c ? x : y) + 1", "(c ? x : y) + 1", "2 * j - (int32_t)(c ? x : y) + 1"),
        ("2 * j - (int32_t)(c ? x : y) + 1", "(c ? x : y)", "2 * j - (int32_t)n + 1"),
        ("x + 1 - j", "x + 1", "n - j"),
        ("x + 1 * j", "x + 1", "x + 1 * j"),
        ("-x % 3", "x % 3", "-x % 3"),
        ("(x % 3)", "x % 3", "(n)"),
        ("max(x, y) - max(x, y)", "max(x, y)", "n - n"),
        ("fmax(x, y)", "max(x, y)", "fmax(x, y)"),
        ("f(x ? y : z)", "(x ? y : z)", "f(x ? y : z)"),
        ("w == x ? y : z", "x ? y : z", "w == x ? y : z"),
        ("w ? x ? y : z : 0", "x ? y : z", "w ? n : 0"),
        ("w ? 0 : x ? y : z", "x ? y : z", "w ? 0 : n"),
        ("x ? y : z ? u : v", "x ? y : z", "x ? y : z ? u : v"),
        ("x && y ? u : v", "x && y", "n ? u : v"),
        ("u == x && y", "x && y", "u == x && y"),
        ("x + 10", "x + 1", "x + 10"),
        ("max(x + 1, 2)", "x + 1", "max(n, 2)"),
        ("!x && y", "x && y", "!x && y"),
        ("b[x + 1][x + 1]", "x + 1", "b[n][n]"),
    ],
)  # fmt: skip
def test_a_name_stands_for_whole_operands(text, expression, expected):
    assert with_name(text, expression, "n") == expected


def _joined(left, operator, right):
    level = LEVELS[operator]
    first = left[0] if left[1] >= level else f"({left[0]})"
    second = right[0] if right[1] > level else f"({right[0]})"
    return f"{first} {operator} {second}", level


def _negated(operand):
    return f"-{operand[0]}" if operand[1] >= 15 else f"-({operand[0]})", 14


_LEAVES = st.sampled_from(["x", "y", "1", "2"]).map(lambda word: (word, 15))
EXPRESSIONS = st.recursive(
    _LEAVES,
    lambda e: st.one_of(
        st.builds(_joined, e, st.sampled_from(sorted(LEVELS)), e), st.builds(_negated, e)
    ),
    max_leaves=8,
).map(lambda e: e[0])


def _value(text, **names):
    try:
        return eval(text, {"__builtins__": {}}, names)  # noqa: S307 (printed here)
    except (ValueError, OverflowError, SyntaxError):  # shifted to the left by less than nothing
        return None


@given(EXPRESSIONS, st.data(), st.integers(-9, 9), st.integers(-9, 9))
def test_the_value_stays_whatever_text_is_named(text, data, x, y):
    words = text.split(" ")
    start = data.draw(st.integers(0, len(words) - 1))
    end = data.draw(st.integers(start + 1, len(words)))
    part = " ".join(words[start:end]).lstrip("-(").rstrip(")")
    named = _value(part, x=x, y=y) if part.count("(") == part.count(")") else None
    if named is None or part.endswith(tuple(LEVELS)):
        return
    before = _value(text, x=x, y=y)
    assert _value(with_name(text, part, "n"), x=x, y=y, n=named) == before
