"""Random expressions: the same lambda on terms, interpreted, and on NumPy's scalars."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from polyopt.analysis.interpreter.interpret import interpret
from polyopt.frontend import stages as po
from polyopt.ir.verify import verify

if TYPE_CHECKING:
    from collections.abc import Callable

TYPES = ["uint8", "uint16", "uint32", "int8", "int16", "int32", "int64", "float32", "float64"]
LENGTH = 6


def choose(cond: Any, a: Any, b: Any) -> Any:
    return po.select(cond, a, b) if isinstance(cond, po.Term) else np.where(cond, a, b)[()]


BINARY: list[Callable[[Any, Any], Any]] = [
    lambda a, b: a + b,
    lambda a, b: a - b,
    lambda a, b: a * b,
    lambda a, b: a // abs(b * b + 1),
    lambda a, b: a % 7 + b % 5,
    lambda a, b: a / 3 - b,
    np.minimum,
    np.maximum,
    lambda a, b: choose(a < b, a, b),
]
UNARY: list[Callable[[Any], Any]] = [lambda a: -a, abs, lambda a: a**2, lambda a: a**0]


def formula(rng: random.Random, depth: int) -> Callable[[dict[str, Any]], Any]:
    """A random function of ``{"a": ..., "b": ..., "x": ...}``."""
    if depth == 0:
        name = rng.choice("aabbx")
        number = rng.choice([1, 2, 9, 0.25, 1.5])
        return (lambda e: e[name]) if rng.random() < 0.8 else (lambda e: e["a"] * 0 + number)
    if rng.random() < 0.2:
        unary, inner = rng.choice(UNARY), formula(rng, depth - 1)
        return lambda e: unary(inner(e))
    op, left, right = rng.choice(BINARY), formula(rng, depth - 1), formula(rng, depth - 1)
    return lambda e: op(left(e), right(e))


@pytest.mark.parametrize("seed", range(120))
def test_random_expressions(seed: int) -> None:
    rng = random.Random(seed)  # noqa: S311  (repeatable, not secret)
    draw = np.random.default_rng(seed)
    data = {n: draw.integers(1, 100, LENGTH).astype(rng.choice(TYPES)) for n in "ab"}
    compute = formula(rng, 3)
    with np.errstate(all="ignore"):
        plain = [
            compute({"a": data["a"][i], "b": data["b"][i], "x": np.int64(i)}) for i in range(LENGTH)
        ]
    inputs = {n: po.input(n, v.dtype, LENGTH) for n, v in data.items()}

    def element(x: po.Term) -> po.Term:
        return po.cast("i64", 0) + compute(
            {"a": inputs["a"][x], "b": inputs["b"][x], "x": po.cast("i64", x)}
        )

    scop = po.pipeline(po.stage("out", LENGTH, element))
    verify(scop)
    found = interpret(scop, {}, {a.name: data[a.name] for a in scop.arrays if a.role == "in"})
    expected = np.asarray([np.int64(0) + v for v in plain])
    assert found["out"].dtype == expected.dtype
    np.testing.assert_array_equal(found["out"], expected)
