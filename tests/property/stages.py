"""Random pipelines of stages, as text that runs twice: as a program, and on whole NumPy arrays.

The same text under ``polyopt`` gives a Scop, under ``OnArrays`` the values of all its stages.
"""

from __future__ import annotations

import random
import re
from dataclasses import dataclass
from functools import partial, reduce
from typing import TYPE_CHECKING, Any

import numpy as np

import polyopt as po

from .values import NUMPY_NAMES

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from polyopt.ir.scop import Scop

#: extents stay at least 3 where sizes are at least this: one reflection is enough for any border
_LEAST = 6
_SIZES = ({"H": 7, "W": 9}, {"H": 6, "W": 6}, {"H": 11, "W": 8})
_NAMES = "yxz"
_TYPES = (
    ("u8", "u16"), ("f32",), ("i32", "i16"), ("f64", "i32"), ("u16",), ("f16",), ("f16", "f32"),
)  # fmt: skip
_TABLE = 6


def stages_scop(text: str) -> Scop:
    """The program of a pipeline's text."""
    names: dict[str, Any] = {"po": po}
    exec(text, names)  # noqa: S102 (written here)
    return names["scop"]


def stages_sizes(text: str) -> list[dict[str, int]]:
    """Sizes to try a pipeline at: those that it has."""
    used = [p for p in "HW" if re.search(rf'"[^"]*\b{p}\b[^"]*"', text)]
    found = [{p: sizes[p] for p in used} for sizes in _SIZES]
    return [sizes for n, sizes in enumerate(found) if sizes not in found[:n]]


def stages_values(
    text: str, sizes: Mapping[str, int], arrays: Mapping[str, np.ndarray]
) -> dict[str, np.ndarray]:
    """What a pipeline computes, stage by stage on whole arrays."""
    shim = OnArrays(sizes, arrays)
    with np.errstate(all="ignore"):
        exec(text, {"po": shim})  # noqa: S102 (written here)
    return shim.outputs


# -- the text -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Extent:
    """``parameter + constant``; no parameter where it is empty."""

    param: str
    constant: int

    def __str__(self) -> str:
        if not self.param:
            return str(self.constant)
        sign = "-" if self.constant < 0 else "+"
        shown = f"{self.param} {sign} {abs(self.constant)}" if self.constant else self.param
        return f'"{shown}"'


@dataclass(frozen=True)
class _Made:
    """A grid of the pipeline; ``magnitude`` bounds its values where they are floats."""

    name: str
    type: str
    dims: tuple[_Extent, ...]
    magnitude: int


def stages_text(seed: int) -> str:
    """The pipeline of that seed: one to three inputs, two to six stages, one or more outputs."""
    return _Author(random.Random(f"stages {seed}")).text()  # noqa: S311


class _Author:
    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.made: list[_Made] = []
        self.types = rng.choice(_TYPES)

    def text(self) -> str:
        rng = self.rng
        lines = [self._input(n) for n in range(rng.randint(1, 3))]
        if rng.random() < 0.3:
            self.made.append(_Made("table", rng.choice(self.types), (_Extent("", _TABLE),), 300))
            lines.append(f'table = po.input("table", "{self.made[-1].type}", {_TABLE})')
        stages = [self._stage(n, lines) for n in range(rng.randint(2, 6))]
        outs = sorted({stages[-1], *(s for s in stages if rng.random() < 0.25)})
        context = [f"{p} >= {_LEAST}" for p in "HW" if re.search(rf'"{p}\b', "\n".join(lines))]
        shown = f", context={context!r}" if context else ""
        return "\n".join([*lines, f"scop = po.pipeline([{', '.join(outs)}]{shown})", ""])

    def _input(self, number: int) -> str:
        rng = self.rng
        dims = tuple(
            _Extent(p, rng.randint(0, 2)) for p in rng.choice(("HW", "HW", "H", "WH", "W"))
        )
        if rng.random() < 0.1:
            dims = (*dims, _Extent("", 3))
        made = _Made(f"in{number}", rng.choice(self.types), dims, 300)
        self.made.append(made)
        return f'{made.name} = po.input("{made.name}", "{made.type}", [{_shown(dims)}])'

    def _stage(self, number: int, lines: list[str]) -> str:
        rng = self.rng
        source = self.made[-1] if rng.random() < 0.7 else rng.choice(self.made)
        if source.name == "table":
            source = self.made[0]
        dims = [self._smaller(dim) for dim in source.dims]
        if len(dims) > 1 and rng.random() < 0.1:
            dims.reverse()
        elif len(dims) < 2 and rng.random() < 0.2:
            dims.append(_Extent(rng.choice("HW"), 0))
        names = _NAMES[: len(dims)]
        type_ = rng.choice(self.types)
        self.indices = list(zip(names, dims, strict=True))
        body, magnitude = self._value(source, type_)
        if type_[0] == "f" and magnitude > 1 << 12:
            body, magnitude = f"po.max(-40, po.min(40, {body}))", 40
        name = f"s{number}"
        made = _Made(name, type_, tuple(dims), magnitude)
        # a half is rounded where it is stored: a sum of halves is one of f32
        said = rng.random() < 0.5
        value = body if said else f'po.cast("{type_}", {body})'
        kind = f', type="{type_}"' if said else ""
        lines.append(
            f'{name} = po.stage("{name}", [{_shown(dims)}],'
            f" lambda {', '.join(names)}: {value}{kind})"
        )
        self.made.append(made)
        return name

    def _smaller(self, dim: _Extent) -> _Extent:
        least = -3 if dim.param else 2
        return _Extent(dim.param, max(least, dim.constant - self.rng.choice((0, 0, 1, 2))))

    # Values: text and magnitude, in the stage's kind of numbers.

    def _value(self, source: _Made, type_: str) -> tuple[str, int]:
        rng = self.rng
        kind = rng.choice(("terms", "terms", "terms", "sum", "select"))
        if kind == "sum":
            return self._sum(source, type_)
        one = self._term(source, type_)
        for _ in range(rng.randint(0, 2)):
            other = rng.choice(self.made) if rng.random() < 0.3 else source
            one = self._joined(one, self._term(other, type_), type_)
        if kind == "select":
            other = self._term(source, type_)
            name = self.indices[0][0]
            last = self.indices[-1][0]
            tests = (f"{name} % 2 == 0", f"{name} < {last} + 1", f"{other[0]} > {one[0]}")
            return f"po.select({rng.choice(tests)}, {one[0]}, {other[0]})", max(one[1], other[1])
        return one

    def _term(self, grid: _Made, type_: str, moved: Sequence[str] = ()) -> tuple[str, int]:
        """An element in a wide type of the stage's kind: floats stay whole, integers may wrap."""
        rng = self.rng
        wide = type_ if type_[0] == "f" else "i64"
        text = f'po.cast("{wide}", {self._read(grid, moved)})'
        magnitude = grid.magnitude if grid.type[0] == "f" else 1 << 16
        if type_[0] == "f" and grid.type[0] != "f":
            text, magnitude = f'po.cast("{type_}", {self._read(grid, moved)} % 50)', 50
        choice = rng.random()
        if choice < 0.15:
            by = rng.choice((2, 3))
            return f"{text} * {by}", magnitude * by
        if choice < 0.3:
            half = (
                f"po.floor({text} * 0.5)" if type_[0] == "f" else f"{text} // {rng.choice('235')}"
            )
            return half, magnitude
        if choice < 0.4:
            return f"abs({text})" if type_[0] == "f" else f"({text} % 7)", magnitude
        if choice < 0.47:
            index = rng.choice(self.indices)[0]
            return f'({text} + po.cast("{wide}", {index}))', magnitude + 40
        return text, magnitude

    def _joined(self, a: tuple[str, int], b: tuple[str, int], type_: str) -> tuple[str, int]:
        op = self.rng.choice(("+", "+", "-", "min", "max"))
        if op in {"min", "max"}:
            return f"po.{op}({a[0]}, {b[0]})", max(a[1], b[1])
        return f"({a[0]} {op} {b[0]})", a[1] + b[1]

    def _sum(self, source: _Made, type_: str) -> tuple[str, int]:
        rng = self.rng
        count = rng.randint(2, 3)
        if rng.random() < 0.25 and type_[0] != "f":
            # a triangle: as far as the stage's own position
            text, _ = self._term(source, type_)
            return f"po.sum(lambda k: {text} + k, k=(0, {self.indices[0][0]} + 1))", 1 << 20
        text, magnitude = self._term(source, type_, moved=("k",))
        op = rng.choice(("sum", "sum", "max", "min"))
        return f"po.{op}(lambda k: {text}, k={count})", magnitude * count

    # Reads.

    def _read(self, grid: _Made, moved: Sequence[str] = ()) -> str:
        rng = self.rng
        if grid.name == "table":
            index = self._index(_Extent("", _TABLE), [])
            data = [m for m in self.made if m.type[0] != "f" and m.name != "table"]
            if data:
                inner = self._read(rng.choice(data))
                index = f'po.clamp(po.cast("i64", {inner}), 0, {_TABLE - 1})'
            return f"table[{index}]"
        border = rng.choice(("", "", "clamped", "mirrored", "wrapped", "padded"))
        if border in {"mirrored", "wrapped"} and not all(map(self._once, grid.dims)):
            border = "clamped"
        extra = list(moved)
        subscripts = [self._index(dim, extra, free=bool(border)) for dim in grid.dims]
        name = f"po.{border}({grid.name})" if border else grid.name
        return f"{name}[{', '.join(subscripts)}]"

    def _once(self, extent: _Extent) -> bool:
        """Whether subscripts of the stage leave an extent by no more than its own length."""
        reach = max((d.constant for _, d in self.indices if d.param == extent.param), default=0)
        return not extent.param or reach + 4 - extent.constant <= _LEAST + extent.constant

    def _index(self, extent: _Extent, moved: list[str], *, free: bool = False) -> str:
        """A subscript in bounds for the whole stage, or near them where it may leave."""
        rng = self.rng
        same = [(n, d) for n, d in self.indices if d.param == extent.param]
        if not same:
            return str(rng.randint(0, max(0, (extent.constant if not extent.param else 3) - 1)))
        name, dim = rng.choice(same)
        room = extent.constant - dim.constant
        if free and extent.param:
            more = moved.pop() if moved else ""
            by = rng.randint(-2, 0) if more else rng.randint(-2, 2)
            sum_ = f"{name} + {more}" if more else name
            return f"{sum_} {'-' if by < 0 else '+'} {abs(by)}" if by else sum_
        if room >= 2 and moved:
            return f"{name} + {moved.pop()}"
        if room >= 0:
            by = rng.randint(0, room)
            mirrored = f"{extent} - 1 - {name}" if not extent.param else ""
            return mirrored if mirrored and rng.random() < 0.2 else f"{name} + {by}" if by else name
        halved = extent.constant * 2 >= dim.constant if not extent.param else True
        return f"{name} // 2" if halved and room >= -3 else "0"


def _shown(dims: Sequence[_Extent]) -> str:
    return ", ".join(map(str, dims))


# -- the same on whole arrays ---------------------------------------------------------------------


class _Half(np.ndarray):
    """Numbers of f32 that are halves: a stage of such is one of halves."""

    def __array_wrap__(self, array: np.ndarray, *_: object) -> np.ndarray:
        return np.asarray(array)

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
        plain = [np.asarray(i) if isinstance(i, _Half) else i for i in inputs]
        return getattr(ufunc, method)(*plain, **options)


@dataclass
class _Cells:
    values: np.ndarray
    border: str = ""

    def __getitem__(self, index: Any) -> np.ndarray:
        items = index if isinstance(index, tuple) else (index,)
        inside: Any = True
        found: list[np.ndarray] = []
        for item, extent in zip(items, self.values.shape, strict=True):
            at = np.asarray(item)
            inside = inside & (at >= 0) & (at < extent)
            found.append(_placed(self.border, at, extent))
        values = self.values[tuple(found)]
        values = values.astype(np.float32) if values.dtype == np.float16 else values
        return np.where(inside, values, values.dtype.type(0)) if self.border == "padded" else values


def _placed(border: str, at: np.ndarray, extent: int) -> np.ndarray:
    """Where an index lands; one that no element has belongs to a branch that is not taken."""
    if border == "wrapped":
        return at % extent
    if border == "mirrored":
        at = np.where(at < 0, -1 - at, at)
        at = np.where(at >= extent, 2 * extent - 1 - at, at)
    return np.clip(at, 0, extent - 1)


def _bordered(border: str, cells: _Cells) -> _Cells:
    return _Cells(cells.values, border)


class OnArrays:
    """The names of ``polyopt`` that a pipeline's text uses, on whole arrays."""

    def __init__(self, sizes: Mapping[str, int], arrays: Mapping[str, np.ndarray]) -> None:
        self.sizes, self.arrays = sizes, arrays
        self.outputs: dict[str, np.ndarray] = {}
        self.names: dict[int, str] = {}

    def _extent(self, extent: Any) -> int:
        return eval(extent, dict(self.sizes)) if isinstance(extent, str) else extent  # noqa: S307

    def input(self, name: str, type_: str, extents: Any) -> _Cells:
        if name not in self.arrays:  # no output needs it
            shape = [self._extent(e) for e in (extents if isinstance(extents, list) else [extents])]
            return _Cells(np.zeros(shape, NUMPY_NAMES[type_]))
        return _Cells(self.arrays[name])

    def stage(
        self, name: str, extents: Sequence[Any], function: Callable[..., Any], **kind: str
    ) -> _Cells:
        shape = [self._extent(e) for e in extents]
        value = function(*np.indices(shape, np.int64, sparse=True))
        own = np.float16 if isinstance(value, _Half) else None
        stored = NUMPY_NAMES[kind["type"]] if kind else own
        cells = _Cells(np.array(np.broadcast_to(value, shape), stored))
        self.names[id(cells)] = name
        self.outputs[name] = cells.values
        return cells

    def pipeline(self, outputs: Sequence[_Cells], context: object = None) -> None:
        kept = {self.names[id(cells)] for cells in outputs}
        self.outputs = {n: v for n, v in self.outputs.items() if n in kept}

    @staticmethod
    def cast(type_: str, value: Any) -> np.ndarray:
        found = np.asarray(value).astype(NUMPY_NAMES[type_])
        return found.astype(np.float32).view(_Half) if type_ == "f16" else found

    @staticmethod
    def select(test: Any, yes: Any, no: Any) -> np.ndarray:
        return np.where(test, yes, no)

    @staticmethod
    def clamp(value: Any, low: int, high: int) -> np.ndarray:
        return np.clip(value, low, high)

    floor = staticmethod(np.floor)

    clamped = staticmethod(partial(_bordered, "clamped"))
    mirrored = staticmethod(partial(_bordered, "mirrored"))
    wrapped = staticmethod(partial(_bordered, "wrapped"))
    padded = staticmethod(partial(_bordered, "padded"))

    def sum(self, function: Callable[..., Any], k: Any) -> np.ndarray:
        if not isinstance(k, tuple):
            return reduce(np.add, map(function, range(k)))
        steps = range(int(np.max(k[1])))
        parts: Iterator[Any] = (np.where(n < k[1], function(np.int64(n)), 0) for n in steps)
        return reduce(np.add, parts)

    def min(self, *values: Any, k: int = 0) -> np.ndarray:
        return reduce(np.minimum, map(values[0], range(k)) if k else values)

    def max(self, *values: Any, k: int = 0) -> np.ndarray:
        return reduce(np.maximum, map(values[0], range(k)) if k else values)
