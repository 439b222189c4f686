"""Reductions over named ranges, choices, casts and clamps of stage expressions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from polyopt.arguments import checks_arguments
from polyopt.errors import InvalidOptionError, shown
from polyopt.frontend.loops.annotations import as_scalar
from polyopt.frontend.stages.grids import argument_names, element, read_range
from polyopt.frontend.stages.origin import origin, span_of
from polyopt.frontend.stages.term import Term, as_term, term

if TYPE_CHECKING:
    from collections.abc import Callable


@dataclass(frozen=True, eq=False)
class Reduction:
    """``op`` of ``body`` over all values of the indices."""

    op: str
    indices: tuple[Term, ...]
    ranges: tuple[tuple[Term, Term], ...]
    body: Term


def _reduction(
    op: str,
    function: Callable[..., object],
    over: Mapping[str, object] | None,
    named: dict[str, object],
) -> Term:
    if not (over is None or isinstance(over, Mapping)):  # type: ignore[redundant]
        raise _unnamed(op, function, over)
    ranges = {**(over or {}), **named}
    names = argument_names(function, tuple(ranges))
    if set(names) != set(ranges) or not ranges:
        raise InvalidOptionError(
            f"the function of a reduction takes ({', '.join(names)}),"
            f" the ranges are of ({', '.join(ranges)})",
            span=span_of(origin()),
            hint="name each index once: po.sum(lambda ky, kx: ..., ky=3, kx=3)",
        )
    indices = {name: Term("index", (), name) for name in ranges}
    body = element(function, [indices[name] for name in names], "a reduction")
    bounds = tuple(read_range(extent) for extent in ranges.values())
    return Term("reduce", (), Reduction(op, tuple(indices.values()), bounds, body))


def _unnamed(op: str, function: Callable[..., object], given: object) -> InvalidOptionError:
    """The error for a range without the name of its index."""
    name = {"add": "sum", "mul": "product"}.get(op, op)
    indices = argument_names(function) or ("k",)
    call = f"po.{name}(lambda {', '.join(indices)}: ..., {indices[0]}={shown(given)})"
    return InvalidOptionError(
        f"a range of po.{name} has no index: {shown(given)}",
        span=span_of(origin()),
        hint=f"name the index of each range: {call}",
    )


@checks_arguments
def sum(  # noqa: A001  (public name)
    function: Callable[..., object], over: Mapping[str, object] | None = None, **ranges: object
) -> Term:
    """``po.sum(lambda ky, kx: w[ky, kx] * img[y + ky, x + kx], ky=3, kx=3)``.

    Ranges are sizes or pairs ``(low, high)``, the outermost first, and may depend on the
    stage's indices. The sum has the type of its terms: cast them to a wider type where they
    could overflow. A function of any number of indices, ``lambda *k: ...``, gets them in the
    order of the ranges.
    """
    return _reduction("add", function, over, ranges)


@checks_arguments
def product(
    function: Callable[..., object], over: Mapping[str, object] | None = None, **ranges: object
) -> Term:
    """The product over ranges, given as for ``sum``."""
    return _reduction("mul", function, over, ranges)


@checks_arguments
def max(  # noqa: A001  (public name)
    function: object, *others: object, over: Mapping[str, object] | None = None, **ranges: object
) -> Term:
    """The greatest value over ranges, given as for ``sum``; or of two or more numbers.

    Over no values at all it is the type's lowest.
    """
    return _extreme("max", (function, *others), over, ranges)


@checks_arguments
def min(  # noqa: A001  (public name)
    function: object, *others: object, over: Mapping[str, object] | None = None, **ranges: object
) -> Term:
    """The least value over ranges, given as for ``sum``; or of two or more numbers.

    Over no values at all it is the type's highest.
    """
    return _extreme("min", (function, *others), over, ranges)


def _extreme(
    op: str, given: tuple[object, ...], over: Mapping[str, object] | None, ranges: dict[str, object]
) -> Term:
    if len(given) == 1 and callable(given[0]):
        return _reduction(op, given[0], over, ranges)
    if len(given) == 1 or over or ranges:
        raise InvalidOptionError(
            f"{op} takes a function and ranges, or two or more numbers", span=span_of(origin())
        )
    result = as_term(given[0])
    for other in given[1:]:
        result = term(op, result, other)
    return result


@checks_arguments
def select(condition: object, then: object, other: object) -> Term:
    """``then`` where the condition holds, else ``other``; only the chosen one is evaluated."""
    return term("select", condition, then, other)


@checks_arguments
def cast(type: object, value: object) -> Term:  # noqa: A002  (public name)
    """The value converted to a scalar type, as NumPy's ``astype`` does."""
    return term("cast", value, payload=as_scalar(type).type)


@checks_arguments
def clamp(value: object, low: object, high: object) -> Term:
    """The value cut to ``low`` .. ``high``, both included: makes data usable as an index."""
    return term("clamp", value, low, high)


@checks_arguments
def assume(value: object, low: object, high: object) -> Term:
    """The value, declared to lie in ``low`` .. ``high``, both included.

    For now the declaration is enforced: it is a ``clamp``.
    """
    return term("clamp", value, low, high)


def _function(name: str, arity: int) -> Callable[..., Term]:
    def call(*args: object) -> Term:
        if len(args) != arity:
            raise InvalidOptionError(f"{name} takes {arity} number(s)", span=span_of(origin()))
        return term("call", *args, payload=name)

    call.__name__ = call.__qualname__ = name
    call.__doc__ = f"``{name}`` of {arity} number(s), at their precision."
    return call


sqrt, exp, exp2, log, log2 = (_function(n, 1) for n in ("sqrt", "exp", "exp2", "log", "log2"))
sin, cos, tan, tanh, erf = (_function(n, 1) for n in ("sin", "cos", "tan", "tanh", "erf"))
floor, ceil, trunc, rint = (_function(n, 1) for n in ("floor", "ceil", "trunc", "rint"))
pow, fmod, atan2 = (_function(n, 2) for n in ("pow", "fmod", "atan2"))  # noqa: A001
