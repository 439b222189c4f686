"""Random locals under random conditions: a subscript that is said to be in bounds always is."""

from __future__ import annotations

import random
from itertools import product
from typing import TYPE_CHECKING

import pytest

import polyopt as po
from polyopt.analysis.bounds import out_of_bounds

if TYPE_CHECKING:
    from collections.abc import Callable

#: what a local is set to, and conditions on one, as C and as Python
VALUES = ("k[i]", "0", "n - 1", "n", "-1", "{v} + 1", "{v} - 1", "{v} + n", "{v} % n", "-{v}")
TESTS = (
    "{v} < 0", "{v} <= 0", "{v} >= n", "{v} > n - 1", "{v} > n", "{v} == n", "{v} != 0",
    "{v} < {w}", "{v} >= {w}",
)  # fmt: skip
NAMES = ("p", "q", "j")


class Step:
    """A statement on locals: as C, and as what it does to them."""

    def __init__(self, text: str, run: Callable[[dict[str, int]], None]) -> None:
        """``run`` changes the locals' values."""
        self.text, self.run = text, run


def _value(rng: random.Random) -> str:
    return rng.choice(VALUES).format(v=rng.choice(NAMES))


def _test(rng: random.Random) -> str:
    one = rng.choice(TESTS).format(v=rng.choice(NAMES), w=rng.choice(NAMES))
    if rng.random() < 0.6:
        return one
    other = rng.choice(TESTS).format(v=rng.choice(NAMES), w=rng.choice(NAMES))
    return rng.choice(["{} && {}", "{} || {}", "!({}) && {}"]).format(f"({one})", f"({other})")


def _evaluated(text: str, values: dict[str, int]) -> int:
    """A C expression of ours in Python, whose remainders have C's sign."""
    if " % n" in text:
        v = values[text.split(" ", maxsplit=1)[0]]
        return abs(v) % values["n"] * (1 if v >= 0 else -1)
    python = text.replace("&&", "and").replace("||", "or").replace("!(", "not (")
    return int(eval(python.replace("k[i]", "k"), {}, values))  # noqa: S307


def _statements(rng: random.Random, depth: int = 0) -> list[Step]:
    return [_statement(rng, depth) for _ in range(rng.randint(1, 3))]


def _statement(rng: random.Random, depth: int) -> Step:
    if depth == 2 or rng.random() < 0.4:
        name, value = rng.choice(NAMES), _value(rng)

        def assign(values: dict[str, int]) -> None:
            values[name] = _evaluated(value, values)

        return Step(f"{name} = {value};", assign)
    test, then = _test(rng), _statements(rng, depth + 1)
    other = _statements(rng, depth + 1) if rng.random() < 0.4 else []
    text = f"if ({test}) {{ {' '.join(s.text for s in then)} }}"
    text += f" else {{ {' '.join(s.text for s in other)} }}" if other else ""

    def choose(values: dict[str, int]) -> None:
        for step in then if _evaluated(test, values) else other:
            step.run(values)

    return Step(text, choose)


def program(seed: int) -> tuple[str, list[Step], str]:
    """C of a loop whose locals choose an element, the statements, and what guards the access."""
    rng = random.Random(f"ranges {seed}")  # noqa: S311
    first = [Step(f"int {name} = k[i];", lambda values, n=name: values.update({n: values["k"]}))
             for name in NAMES]  # fmt: skip
    # the last local is kept within the array in one of three ways, or nearly
    near, end = rng.choice(["0", "0", "-1"]), rng.choice(["n - 1", "n - 1", "n"])
    steps = [*first, *_statements(rng), *_statements(rng)]
    guard = ""
    if rng.random() < 0.5:
        guard = rng.choice([f"j >= {near} && j <= {end}", "j >= 0 && j < n", "p >= 0 && p < n"])
    else:
        for test, value in ((f"j < {near}", near), (f"j > {end}", end)):

            def clamp(values: dict[str, int], test: str = test, value: str = value) -> None:
                if _evaluated(test, values):
                    values["j"] = _evaluated(value, values)

            steps.append(Step(f"if ({test}) j = {value};", clamp))
    body = "\n        ".join(step.text for step in steps)
    put = f"if ({guard}) b[i] = a[j];" if guard else "b[i] = a[j];"
    return (
        (
            "void look(int n, const int k[n], const float a[n], float b[n])\n{\n"
            f"    for (int i = 0; i < n; i++) {{\n        {body}\n        {put}\n    }}\n}}\n"
        ),
        steps,
        guard,
    )


def _accessed(steps: list[Step], guard: str, n: int, k: int) -> int | None:
    values = {"n": n, "k": k}
    for step in steps:
        step.run(values)
    return values["j"] if not guard or _evaluated(guard, values) else None


@pytest.mark.parametrize("part", range(8))
def test_what_is_said_to_be_in_bounds_is(part):
    taken = 0
    for seed in range(part * 20, part * 20 + 20):
        text, steps, guard = program(seed)
        if out_of_bounds(po.parse_c(text)):
            continue
        taken += 1
        for n, k in product((1, 2, 5), range(-12, 13)):
            at = _accessed(steps, guard, n, k)
            assert at is None or 0 <= at < n, f"a[{at}] for k = {k}, n = {n} in\n{text}"
    assert taken > 3
