"""Expressions of stages, as Python's operators build them; typed only when a pipeline is made."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from polyopt.errors import TooDeepError, TypeMismatchError, UnsupportedError
from polyopt.frontend.assemble import MAX_OPERATIONS
from polyopt.frontend.functions import constant
from polyopt.frontend.loops.calls import is_known
from polyopt.frontend.stages.origin import Origin, origin, span_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from polyopt.frontend.values import Value
    from polyopt.source import Span

#: Deeper expressions are refused; everything after this reads them by recursion.
MAX_DEPTH = 256


@dataclass(frozen=True, eq=False, slots=True)
class Term:
    """A node of a stage's expression: an operation on terms, with what belongs to it.

    Operators build terms: arithmetic, comparisons, and ``&``, ``|``, ``~`` on conditions.
    """

    op: str
    args: tuple[Term, ...] = ()
    payload: Any = None
    origin: Origin = field(default_factory=origin)
    depth: int = 0
    #: operations, shared ones counted as often as they are used
    weight: int = 1

    @property
    def span(self) -> Span:
        """Where it was written."""
        return span_of(self.origin)

    def __add__(self, other: object) -> Term:
        return term("add", self, other)

    def __radd__(self, other: object) -> Term:
        return term("add", other, self)

    def __sub__(self, other: object) -> Term:
        return term("sub", self, other)

    def __rsub__(self, other: object) -> Term:
        return term("sub", other, self)

    def __mul__(self, other: object) -> Term:
        return term("mul", self, other)

    def __rmul__(self, other: object) -> Term:
        return term("mul", other, self)

    def __truediv__(self, other: object) -> Term:
        return term("truediv", self, other)

    def __rtruediv__(self, other: object) -> Term:
        return term("truediv", other, self)

    def __floordiv__(self, other: object) -> Term:
        return term("floordiv", self, other)

    def __rfloordiv__(self, other: object) -> Term:
        return term("floordiv", other, self)

    def __mod__(self, other: object) -> Term:
        return term("mod", self, other)

    def __rmod__(self, other: object) -> Term:
        return term("mod", other, self)

    def __pow__(self, other: object) -> Term:
        return term("pow", self, other)

    def __rpow__(self, other: object) -> Term:
        return term("pow", other, self)

    def __and__(self, other: object) -> Term:
        return term("and", self, other)

    def __rand__(self, other: object) -> Term:
        return term("and", other, self)

    def __or__(self, other: object) -> Term:
        return term("or", self, other)

    def __ror__(self, other: object) -> Term:
        return term("or", other, self)

    def __xor__(self, other: object) -> Term:
        return term("xor", self, other)

    def __rxor__(self, other: object) -> Term:
        return term("xor", other, self)

    def __lshift__(self, other: object) -> Term:
        return term("shl", self, other)

    def __rlshift__(self, other: object) -> Term:
        return term("shl", other, self)

    def __rshift__(self, other: object) -> Term:
        return term("shr", self, other)

    def __rrshift__(self, other: object) -> Term:
        return term("shr", other, self)

    def __lt__(self, other: object) -> Term:
        return term("lt", self, other)

    def __le__(self, other: object) -> Term:
        return term("le", self, other)

    def __gt__(self, other: object) -> Term:
        return term("gt", self, other)

    def __ge__(self, other: object) -> Term:
        return term("ge", self, other)

    def __eq__(self, other: object) -> Term:  # type: ignore[override]
        return term("eq", self, other)

    def __ne__(self, other: object) -> Term:  # type: ignore[override]
        return term("ne", self, other)

    __hash__ = object.__hash__

    def __neg__(self) -> Term:
        return term("neg", self)

    def __pos__(self) -> Term:
        return self

    def __invert__(self) -> Term:
        return term("invert", self)

    def __abs__(self) -> Term:
        return term("known", self, payload=abs)

    def __bool__(self) -> bool:
        """Raises ``UnsupportedError``: a stage's condition has no value yet."""
        raise UnsupportedError(
            "a condition of a stage is not known while the stage is written",
            span=span_of(origin()),
            hint="write po.select(condition, a, b), and & | ~ for and, or, not;"
            " `0 <= y < H` is `(0 <= y) & (y < H)`",
        )

    def __iter__(self) -> Iterator[Term]:
        """Raises ``UnsupportedError``: a number has no elements."""
        raise UnsupportedError("this is a single number", span=span_of(origin()))

    def __array_ufunc__(
        self, ufunc: object, method: str, *inputs: object, **options: object
    ) -> Term:
        """NumPy's functions on terms, and operators with a NumPy scalar on the left."""
        if method != "__call__" or options or not is_known(ufunc):
            name = getattr(ufunc, "__name__", str(ufunc))
            raise UnsupportedError(f"np.{name} is not taken in stages", span=span_of(origin()))
        return term("known", *inputs, payload=ufunc)


class Indexed:
    """Base of what is indexed; without dimensions it is a number itself."""

    def as_term(self) -> Term:
        """The number that it is."""
        raise NotImplementedError


def term(op: str, *args: object, payload: object = None) -> Term:
    """An operation on terms and numbers. Raises ``TooDeepError`` or ``UnsupportedError``."""
    terms = tuple(as_term(a) for a in args)
    depth = 1 + max((t.depth for t in terms), default=0)
    if depth > MAX_DEPTH:
        raise TooDeepError(
            f"an expression nested more than {MAX_DEPTH} operations deep",
            span=span_of(origin()),
            hint="make part of it a stage of its own, or use po.sum over a range",
        )
    weight = 1 + sum(t.weight for t in terms)
    if weight > MAX_OPERATIONS:
        raise TooDeepError(
            f"an expression of more than {MAX_OPERATIONS:,} operations",
            span=span_of(origin()),
            hint="make the parts that are used several times stages of their own",
        )
    return Term(op, terms, payload, depth=depth, weight=weight)


def as_term(value: object) -> Term:
    """A term, or a number as one. Raises ``TypeMismatchError`` for anything else."""
    if isinstance(value, Term):
        return value
    if isinstance(value, Indexed):
        return value.as_term()
    try:
        known: Value = constant(value)
    except UnsupportedError:
        reduce = "a reduction's ranges are named: po.max(lambda x: img[y, x], x=W)"
        raise TypeMismatchError(
            f"a {type(value).__name__} is not a number of a stage",
            span=span_of(origin()),
            hint=reduce if callable(value) else "index arrays and stages: img[y, x]",
        ) from None
    return Term("value", (), known)
