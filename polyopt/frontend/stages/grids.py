"""What stages read and are: inputs, scalars, stages, and arrays with a rule for their borders."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from inspect import CO_VARARGS
from itertools import count
from typing import TYPE_CHECKING, cast

from polyopt.arguments import checks_arguments
from polyopt.errors import (
    InvalidOptionError,
    TypeMismatchError,
    UnsupportedError,
    UserError,
    shown,
)
from polyopt.frontend.loops.annotations import as_scalar, half_scalar
from polyopt.frontend.sizes import parse_size
from polyopt.frontend.stages.origin import Origin, origin, raised_at, span_of
from polyopt.frontend.stages.term import Indexed, Term, as_term, term

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from polyopt.frontend.stages.recurrences import Steps
    from polyopt.ir.types import ScalarType

_numbers = count()


@dataclass(frozen=True, eq=False)
class Grid(Indexed):
    """Something with a name that is indexed by one term per dimension."""

    name: str
    #: half-open range per dimension
    ranges: tuple[tuple[Term, Term], ...]
    origin: Origin

    def __getitem__(self, index: object) -> Term:
        """The element at an index. Raises ``UnsupportedError`` for the wrong number of them."""
        items = cast("tuple[object, ...]", index) if isinstance(index, tuple) else (index,)
        _check_rank(self, items)
        return term("load", *items, payload=self)

    def as_term(self) -> Term:
        """A grid without dimensions, as a number. Raises ``TypeMismatchError`` for others."""
        if self.ranges:
            raise TypeMismatchError(
                f"{self.name!r} is an array, not a number",
                span=span_of(origin()),
                hint=f"index it: {_example(self)}",
            )
        return term("load", payload=self)

    def __iter__(self) -> Iterator[Term]:
        """Raises ``UnsupportedError``: the extents are not known yet."""
        raise UnsupportedError(f"{self.name!r} cannot be looped over", span=span_of(origin()))


def _check_rank(grid: Grid, items: tuple[object, ...]) -> None:
    if any(isinstance(item, slice) for item in items):
        raise UnsupportedError(
            "slices are not taken in stages",
            span=span_of(origin()),
            hint="index single elements: the stage's function runs for each of them",
        )
    if len(items) != len(grid.ranges):
        raise UnsupportedError(
            f"{grid.name!r} has {len(grid.ranges)} dimension(s), not {len(items)}",
            span=span_of(origin()),
            hint=f"write {_example(grid)}",
        )


def _example(grid: Grid) -> str:
    return f"{grid.name}[{', '.join('ijklmn'[: len(grid.ranges)])}]"


@dataclass(frozen=True, eq=False)
class Input(Grid):
    """An array (or, without dimensions, a scalar) that the caller gives."""

    type: ScalarType
    #: position in the order of definition
    number: int = field(default_factory=lambda: next(_numbers))


@dataclass(frozen=True, eq=False)
class Stage(Grid):
    """A computed array: ``name[indices] = expression`` for all indices in ``ranges``."""

    indices: tuple[Term, ...]
    expression: Term
    type: ScalarType | None = None
    #: position in the order of definition
    number: int = field(default_factory=lambda: next(_numbers))
    #: the recurrence that computes it, if one does
    steps: Steps | None = None


@dataclass(frozen=True, eq=False)
class Border(Grid):
    """A grid that may be read outside its extent: ``kind`` says what is there."""

    grid: Input | Stage
    kind: str
    value: Term | None = None


@checks_arguments
def size(name: str) -> Term:
    """A size of the pipeline, such as an image's height, for use in extents and expressions."""
    check_name(name, "size")
    return Term("size", (), name)


def extent_term(extent: object) -> Term:
    """An extent given as an integer, as text, or as an expression of sizes."""
    if not isinstance(extent, str):
        return as_term(extent)
    parse_size(extent)
    return Term("text", (), extent)


def read_ranges(extents: object) -> tuple[tuple[Term, Term], ...]:
    """Half-open ranges from extents: sizes (from 0), or pairs ``(low, high)``."""
    if isinstance(extents, str | int | Term):
        extents = (extents,)
    if not isinstance(extents, Iterable) or isinstance(extents, bytes):
        raise InvalidOptionError(
            f"extents are sizes, one for each dimension, not {shown(extents)}",
            span=span_of(origin()),
        )
    return tuple(read_range(extent) for extent in cast("Iterable[object]", extents))


def read_range(extent: object) -> tuple[Term, Term]:
    """One half-open range. Raises ``InvalidOptionError`` for anything but a size or a pair."""
    if isinstance(extent, range) and extent.step == 1:
        return as_term(extent.start), as_term(extent.stop)
    if not isinstance(extent, tuple | list):
        return as_term(0), extent_term(extent)
    ends = cast("Sequence[object]", extent)
    if len(ends) != 2:
        raise InvalidOptionError(
            f"a range is a size or a pair (low, high), not {ends!r}", span=span_of(origin())
        )
    return extent_term(ends[0]), extent_term(ends[1])


def check_name(name: object, what: str) -> None:
    """Raises ``InvalidOptionError`` for a name that is no identifier."""
    if not isinstance(name, str) or not name.isidentifier():
        raise InvalidOptionError(
            f"the name of a {what} has to be an identifier, not {name!r}", span=span_of(origin())
        )


@checks_arguments
def input(name: str, type: object, extents: object) -> Input:  # noqa: A001, A002  (public names)
    """An array that the caller gives: ``po.input("img", po.u16, ["H", "W"])``.

    Extents are given as for ``stage``. Raises ``InvalidOptionError`` for a name that is no
    identifier or an extent that is no size.
    """
    check_name(name, "input")
    return Input(name, read_ranges(extents), origin(), as_scalar(type).type)


@checks_arguments
def scalar(name: str, type: object) -> Term:  # noqa: A002  (public name)
    """A scalar argument, used as a number: ``scalar("alpha", "f32")``.

    Raises ``InvalidOptionError`` for a name that is no identifier, and ``UnsupportedError`` for
    halves, which arrays alone are of.
    """
    check_name(name, "scalar")
    kind = as_scalar(type).type
    if kind.is_half:
        raise half_scalar(name, kind, span_of(origin()))
    return Input(name, (), origin(), kind).as_term()


@checks_arguments
def stage(
    name: str,
    extents: object,
    function: Callable[..., object],
    *,
    type: object = None,  # noqa: A002  (public name)
    indices: Sequence[str] | None = None,
) -> Stage:
    """A stage: ``function`` gives the element at each index of ``extents``.

    ``extents`` has one size, or pair ``(low, high)``, per dimension: integers, text such as
    ``"H - 2"``, or expressions of ``size("H")``. ``function`` is called once, with one symbolic
    index per dimension; its argument names are the names of the loops. The element's type is
    that of the expression by NumPy's rules, or ``type``::

        img = po.input("img", po.f32, ["H", "W"])
        pair = po.stage("pair", ["H", "W - 1"], lambda y, x: img[y, x] + img[y, x + 1])
        scop = po.pipeline(pair)

    A function of any number of indices, ``lambda *i: 2 * img[i]``, makes a stage of any rank;
    ``indices`` then names its loops (by default ``i0``, ``i1``, ...).

    Raises ``InvalidOptionError`` or the expression's errors.
    """
    check_name(name, "stage")
    ranges = read_ranges(extents)
    names = argument_names(function, indices or [f"i{d}" for d in range(len(ranges))])
    if len(names) != len(ranges):
        raise InvalidOptionError(
            f"the stage {name!r} has {len(ranges)} dimension(s), its function takes"
            f" {len(names)} index(es)",
            span=span_of(origin()),
        )
    terms = tuple(Term("index", (), n) for n in names)
    expression = element(function, terms, f"the stage {name!r}")
    kind = None if type is None else as_scalar(type).type
    return Stage(name, ranges, origin(), terms, expression, kind)


def element(function: Callable[..., object], indices: Sequence[Term], what: str) -> Term:
    """What a function makes of indices.

    Raises ``UnsupportedError`` where the function itself fails, with the place in it.
    """
    try:
        return as_term(function(*indices))
    except UserError:
        raise
    except Exception as error:
        raise UnsupportedError(
            f"the function of {what} raises {type(error).__name__}: {error}",
            span=span_of(raised_at(error)),
            hint=_HINTS.get(type(error).__name__, ""),
        ) from error


#: by what a stage's function raises
_HINTS = {
    "NameError": "a stage reads what was made before it, and never itself: a recurrence is"
    " written with po.steps, or as loops, with @po.scop or in C",
    "AttributeError": "reductions are po.sum, po.product, po.max and po.min; others, such as the"
    " place of a maximum, are written as loops, with @po.scop or in C",
}  # fmt: skip
_HINTS["UnboundLocalError"] = _HINTS["NameError"]


def argument_names(function: Callable[..., object], rest: Sequence[str] = ()) -> tuple[str, ...]:
    """The names of a function's positional arguments; defaults are not counted.

    Where it takes any number of them, ``rest`` names all.
    """
    code = getattr(function, "__code__", None)
    if code is None:
        raise InvalidOptionError(
            f"a stage needs a Python function, not {shown(function)}", span=span_of(origin())
        )
    if code.co_flags & CO_VARARGS:
        return tuple(rest)
    given = code.co_argcount - len(getattr(function, "__defaults__", None) or ())
    return tuple(code.co_varnames[:given])


@checks_arguments
def clamped(grid: Input | Stage) -> Border:
    """The grid with its outermost elements repeated outside its extent."""
    return _border(grid, "clamped")


@checks_arguments
def mirrored(grid: Input | Stage, *, edge: bool = True) -> Border:
    """The grid reflected at its borders; with ``edge`` the outermost element appears twice.

    One reflection where the extent is a size; as many as it takes where it is a constant.
    """
    return _border(grid, "mirrored" if edge else "reflected")


@checks_arguments
def wrapped(grid: Input | Stage) -> Border:
    """The grid repeated periodically: once on each side where the extent is a size."""
    return _border(grid, "wrapped")


@checks_arguments
def padded(grid: Input | Stage, value: object = 0) -> Border:
    """The grid with ``value`` outside its extent."""
    return _border(grid, "padded", as_term(value))


def _border(grid: object, kind: str, value: Term | None = None) -> Border:
    if not isinstance(grid, Input | Stage):
        raise InvalidOptionError(
            f"{kind} takes an input or a stage, not {grid!r}", span=span_of(origin())
        )
    return Border(grid.name, grid.ranges, origin(), grid, kind, value)
