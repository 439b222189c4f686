"""Arguments for a program: sizes, and arrays that hold what is likely and what is extreme."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from .ctypes import TYPES
from .shapes import Extent

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from .generate import Parameter, Program

_FLOATS = (
    0.0,
    -0.0,
    1.0,
    -1.0,
    0.5,
    np.nan,
    np.inf,
    -np.inf,
    1e30,
    -1e30,
    1e-40,
    3.0000002,
    1e300,
    5e-324,
    255.0,
    -128.5,
)


@dataclass(frozen=True, eq=False)
class Given:
    """One argument's bytes; ``base`` is the argument in whose memory it lies, ``shift`` bytes in."""

    values: np.ndarray
    base: int = -1
    shift: int = 0
    skew: int = 0


@dataclass(frozen=True, eq=False)
class Run:
    """A call."""

    sizes: Mapping[str, int]
    arguments: tuple[Given, ...]

    @property
    def overlaps(self) -> bool:
        """Whether arguments share memory."""
        return any(a.base >= 0 for a in self.arguments)

    def __str__(self) -> str:
        """Its sizes."""
        return f"{dict(self.sizes)}{' overlapping' * self.overlaps}"


def runs_of(program: Program, seed: int) -> list[Run]:
    """Three calls; of whole files' functions a fourth whose arrays overlap."""
    rng = np.random.default_rng([seed, 7])
    runs = [_run(program, sizes, rng) for sizes in _sizes(program, rng)]
    if program.wild and (over := _overlapping(program, runs[0], rng)):
        runs.append(over)
    return runs


def _sizes(program: Program, rng: np.random.Generator) -> Iterator[dict[str, int]]:
    most = program.most
    for low, high in ((2, min(13, most)), (1, min(3, most)), (most // 2, most)):
        yield {
            **program.fixed,
            **{name: int(rng.integers(low, high, endpoint=True)) for name in program.sizes},
        }


def _run(program: Program, sizes: dict[str, int], rng: np.random.Generator) -> Run:
    return Run(sizes, tuple(_given(p, sizes, rng) for p in program.parameters))


def _given(p: Parameter, sizes: Mapping[str, int], rng: np.random.Generator) -> Given:
    type_ = TYPES[p.key]
    if p.kind == "size":
        return Given(np.array([sizes[p.name]]).astype(type_.numpy))
    count = p.count(sizes) if p.kind == "array" else 1
    if p.into:
        most = min(Extent(*p.into).at(sizes), type_.high + 1)
        return Given(rng.integers(0, most, count).astype(type_.numpy))
    skew = int(rng.integers(0, 5)) * type_.size if p.kind == "array" else 0
    return Given(contents(p.key, count, rng), skew=skew)


def contents(key: str, count: int, rng: np.random.Generator) -> np.ndarray:
    """Values of a type: small, any, or extreme ones, or some of each."""
    kinds = rng.choice(4, p=(0.35, 0.2, 0.15, 0.3))
    small, any_, edges = _small(key, count, rng), _any(key, count, rng), _edges(key, count, rng)
    if kinds < 3:
        return (small, any_, edges)[kinds]
    which = rng.integers(0, 10, count)
    return np.where(which < 7, small, np.where(which < 8, any_, edges))


def _small(key: str, count: int, rng: np.random.Generator) -> np.ndarray:
    type_ = TYPES[key]
    if type_.floating:
        drawn = rng.integers(-9, 10, count) if rng.integers(2) else rng.standard_normal(count)
        return drawn.astype(type_.numpy)
    return rng.integers(max(type_.low, -9), min(type_.high, 20), count, endpoint=True).astype(
        type_.numpy
    )


def _any(key: str, count: int, rng: np.random.Generator) -> np.ndarray:
    type_ = TYPES[key]
    if type_.floating:
        return (rng.standard_normal(count) * 10.0 ** rng.integers(-8, 9, count)).astype(type_.numpy)
    return rng.integers(
        type_.low, type_.high, count, endpoint=True, dtype=type_.numpy if key != "bool" else "int64"
    ).astype(type_.numpy)


def _edges(key: str, count: int, rng: np.random.Generator) -> np.ndarray:
    type_ = TYPES[key]
    with np.errstate(over="ignore", under="ignore"):
        some = (
            _FLOATS
            if type_.floating
            else (type_.low, type_.high, type_.low + 1, type_.high - 1, 0, 1)
        )
        table = np.array([np.array(v).astype(type_.numpy) for v in some])
    return table[rng.integers(0, len(table), count)]


def _alias(one: Parameter, other: Parameter) -> bool:
    """Whether C lets accesses of these types alias (C11 6.5, 7): a call where others overlap is not defined."""
    long_long = ["long long" in p.spelling for p in (one, other)]
    return one.key == other.key and long_long[0] == long_long[1]


def _overlapping(program: Program, run: Run, rng: np.random.Generator) -> Run | None:
    """The run with one array inside of another's memory."""
    free = [i for i, p in enumerate(program.parameters) if p.kind == "array" and p.aliases]
    pairs = [
        (i, j)
        for i in free
        for j in free
        if i < j and _alias(program.parameters[i], program.parameters[j])
    ]
    if not pairs:
        return None
    base, other = pairs[int(rng.integers(len(pairs)))]
    arguments = list(run.arguments)
    one, two = arguments[base].values, arguments[other].values
    start = int(rng.integers(0, min(len(one), 6)))
    room = max(len(one), start + len(two))
    memory = np.resize(np.concatenate([one, two]), room)
    arguments[base] = Given(memory, skew=arguments[base].skew)
    arguments[other] = Given(memory[start : start + len(two)], base, start * two.itemsize)
    return Run(run.sizes, tuple(arguments))
