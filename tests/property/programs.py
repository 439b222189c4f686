"""Random programs as C text: always in bounds, always initialised, exact in every order.

``random_program(seed)`` draws one from a seed; ``programs()`` is a hypothesis strategy that draws
(and shrinks) them by the same choices.
"""

from __future__ import annotations

import random
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from .builder import INPUT_RANGES, MOST_TRIPS, Builder, Cells, Choices, indented
from .templates import COSTS, PROFILES, pointwise
from .values import C_NAMES, NUMPY_NAMES, Lin, Value

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hypothesis.strategies import SearchStrategy

_PALETTES = (
    ("f32",), ("i32",), ("f32", "i32"), ("u8", "u16"), ("f64",), ("i16", "i32"), ("u16",),
    ("f32", "u8"), ("i64", "i32"), ("u32", "u8"), ("i8", "i32"), ("f64", "f32"), ("u64", "i32"),
)  # fmt: skip


_WIDTH = 96


@dataclass(frozen=True)
class Argument:
    """An argument of a program: ``role`` is ``in``, ``out`` or ``inout``; scalars have no extent."""

    name: str
    type: str
    extents: tuple[Lin, ...]
    role: str

    @property
    def dtype(self) -> np.dtype:
        """The type of its elements."""
        return np.dtype(NUMPY_NAMES[self.type])

    def shape(self, sizes: dict[str, int]) -> tuple[int, ...]:
        """Its shape at these sizes."""
        return tuple(extent.at(sizes) for extent in self.extents)


@dataclass(frozen=True)
class RandomProgram:
    """A C function, with sizes at which it is quick and awkward.

    ``arguments`` are those after the sizes, in call order. Values stay exact for all sizes that
    make no extent greater than ``MOST_TRIPS``.
    """

    text: str
    name: str
    sizes: dict[str, int]
    arguments: tuple[Argument, ...]

    def __repr__(self) -> str:
        """The sizes and the text, as a failing test shows them."""
        return f"{self.sizes}\n{self.text}"


class _Seeded:
    """Choices by a seeded generator."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)  # noqa: S311

    def integer(self, low: int, high: int) -> int:
        """A number in ``low..high``."""
        return self._random.randint(low, high)


def random_program(seed: int, profile: str = "default") -> RandomProgram:
    """The program of that seed; ``profile`` is a key of ``PROFILES``."""
    return build_program(_Seeded(seed), profile, f"random_{seed}")


def programs(profile: str = "default") -> SearchStrategy[RandomProgram]:
    """A hypothesis strategy of programs, shrinking towards few and plain statements."""
    from hypothesis import strategies as st

    class Drawn:
        def __init__(self, draw: st.DrawFn) -> None:
            self._draw = draw

        def integer(self, low: int, high: int) -> int:
            return self._draw(st.integers(low, high))

    @st.composite
    def drawn(draw: st.DrawFn) -> RandomProgram:
        return build_program(Drawn(draw), profile, "random_program")

    return drawn()


def inputs(program: RandomProgram, rng: np.random.Generator) -> dict[str, np.ndarray]:
    """Whole, small numbers for each argument that comes with contents.

    Those include arrays that the program only writes, and not all of: what it leaves must stay.
    """
    result = {}
    for argument in program.arguments:
        if argument.role != "out":
            low, high = INPUT_RANGES[argument.type]
            drawn = rng.integers(low, high, argument.shape(program.sizes), endpoint=True)
            result[argument.name] = np.asarray(drawn).astype(argument.dtype)
    return result


def build_program(draw: Choices, profile: str, name: str) -> RandomProgram:
    """One program made by these choices."""
    b = Builder(draw, types=("f32",), params=())
    b.types = b.choose(_PALETTES)
    b.params = b.choose((("N",), ("N", "M"), ("N", "M"), ()))
    for _ in range(b.choose((1, 2, 1, 3))):
        b.input()
    scalar = _scalar(b) if b.chance(20) else None
    target = b.choose((2, 2, 3, 2, 3, 4, 5))
    while b.statements < target:
        room = target - b.statements
        fitting = [t for t in PROFILES[profile] if COSTS[t] <= room] or [pointwise]
        b.choose(fitting)(b)
    return _finished(b, name, scalar)


def _scalar(b: Builder) -> Argument:
    type_ = b.choose(tuple(t for t in ("i32", "f32", "f64") if t in b.types) or ("i32",))
    low, high = INPUT_RANGES[type_]
    b.scalars.append(Value("gain", type_, low, high))
    return Argument("gain", type_, (), "in")


def _finished(b: Builder, name: str, scalar: Argument | None) -> RandomProgram:
    """The text: signature, locals, body."""
    # inputs that nothing reads stay: what the program assumes of its sizes follows from them too
    arrays = b.arrays
    temps = [a for a in arrays if not a.given and a.read and not b.chance(25)]
    if all(a in temps for a in arrays if a.written):
        temps.remove(next(a for a in reversed(arrays) if a.written))
    arguments = tuple(Argument(a.name, a.type, a.dims, _role(a)) for a in arrays if a not in temps)
    arguments = ((scalar,) if scalar else ()) + arguments
    declared = [_declared(a) for a in arguments]
    body = [f"{C_NAMES[a.type]} {a.name}{_brackets(a.dims)};" for a in temps]
    body += [line for item in b.body for line in item]
    used = [p for p in b.params if re.search(rf"\b{p}\b", "\n".join(declared + body))]
    lines = ["#include <math.h>", "#include <stdint.h>", ""]
    lines += _wrapped(f"void {name}(", [f"int {p}" for p in used] + declared)
    lines += ["{", *indented(body), "}", ""]
    return RandomProgram("\n".join(lines), name, _sizes(b, used), arguments)


def _wrapped(start: str, parts: Sequence[str]) -> list[str]:
    """A parameter list, broken between parameters."""
    lines = [start]
    for part in parts:
        if len(lines[-1]) + len(part) > _WIDTH:
            lines.append(" " * len(start))
        lines[-1] += part + ", "
    return [line.rstrip() for line in [*lines[:-1], lines[-1].rstrip(", ") + ")"]]


def _role(cells: Cells) -> str:
    if not cells.given:
        return "out"
    return "inout" if cells.written else "in"


def _brackets(dims: Sequence[Lin], first: str = "") -> str:
    texts = [str(dim) for dim in dims]
    return "".join(f"[{first if d == 0 else ''}{text}]" for d, text in enumerate(texts))


def _declared(argument: Argument) -> str:
    if not argument.extents:
        return f"{C_NAMES[argument.type]} {argument.name}"
    const = "const " if argument.role == "in" else ""
    brackets = _brackets(argument.extents, "restrict ")
    return f"{const}{C_NAMES[argument.type]} {argument.name}{brackets}"


def _sizes(b: Builder, used: Sequence[str]) -> dict[str, int]:
    """Small sizes: least ones, primes, and whatever keeps every extent in its limit."""
    sizes = {p: max(1, b.least[p]) + b.choose((3, 0, 1, 2, 4, 5)) for p in used}
    dims = [dim for a in b.arrays for dim in a.dims]
    for param in used:
        least = max(1, b.least[param])
        while sizes[param] > least and any(_at(dim, sizes) > MOST_TRIPS for dim in dims):
            sizes[param] -= 1
    return sizes


def _at(dim: Lin, sizes: dict[str, int]) -> int:
    return dim.at({**dict.fromkeys(dim.terms, 1), **sizes})
