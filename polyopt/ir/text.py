"""Affine expressions and conditions as people write them: ``i >= N - 1 and j % 2 == 0``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from polyopt.isl import PwAff, dim_type

if TYPE_CHECKING:
    from collections.abc import Sequence

    from polyopt.isl import Aff, BasicSet, Set

#: More pieces or parts than this are not spelled out.
_MOST = 8


def affine_text(form: PwAff, names: Sequence[str] | None = None) -> str:
    """``{ S[i] -> [value] }`` as an expression in Python's operators.

    ``names`` are those of the dimensions; without it the relation's own names count.
    Several pieces print as ``min``, ``max`` or a conditional.
    """
    pieces = form.coalesce().get_pieces()
    texts = [linear(aff, names).text() for _, aff in pieces]
    if len(pieces) == 1:
        return texts[0]
    if not pieces or len(pieces) > _MOST:
        return "..."
    for word, join in (("min", PwAff.min), ("max", PwAff.max)):
        whole = PwAff.from_aff(pieces[0][1])
        for _, aff in pieces[1:]:
            whole = join(whole, PwAff.from_aff(aff))
        if whole.intersect_domain(form.domain()).is_equal(form):
            return f"{word}({', '.join(texts)})"
    result = texts[-1]
    for (where, _), text in zip(pieces[-2::-1], texts[-2::-1], strict=True):
        result = f"({text} if {condition_text(where, names)} else {result})"
    return result


def condition_text(where: Set, names: Sequence[str] | None = None) -> str:
    """Membership of ``{ S[i] : ... }`` as a condition; ``names`` as for ``affine_text``."""
    if where.is_empty():
        return "false"
    basics = where.coalesce().remove_redundancies().compute_divs().coalesce().get_basic_sets()
    if len(basics) > _MOST:
        return f"one of {len(basics)} conditions holds"
    parts = [_conjunction(part, names) for part in basics]
    if len(parts) == 1 or "true" in parts:
        return "true" if "true" in parts else parts[0]
    return " or ".join(f"({p})" if " and " in p else p for p in sorted(parts))


@dataclass(frozen=True)
class Linear:
    """``(sum of factor * atom) + constant``; atoms are names, ``x % 2``, ``x // 3``."""

    terms: dict[str, int]
    constant: int
    divisor: int = 1

    def text(self) -> str:
        """The sum, positive terms first."""
        ordered = sorted(self.terms.items(), key=lambda item: item[1] < 0)
        text = ""
        for atom, factor in ordered:
            if factor:
                text += _signed(_product(atom, abs(factor)), factor, first=not text)
        if self.constant or not text:
            text += _signed(str(abs(self.constant)), self.constant, first=not text)
        return text if self.divisor == 1 else f"({text}) / {self.divisor}"

    def plus(self, other: Linear, factor: int = 1) -> Linear:
        """``self + factor * other``."""
        terms = dict(self.terms)
        for atom, number in other.terms.items():
            terms[atom] = terms.get(atom, 0) + factor * number
        kept = {atom: number for atom, number in terms.items() if number}
        return Linear(kept, self.constant + factor * other.constant, self.divisor)

    @property
    def atomic(self) -> bool:
        """Whether the text needs no parentheses beside ``%``, ``//`` and ``*``."""
        lone = len(self.terms) == 1 and not self.constant and set(self.terms.values()) == {1}
        return (lone and " " not in next(iter(self.terms))) or not (self.terms or self.constant < 0)


def _signed(text: str, sign: int, *, first: bool) -> str:
    if first:
        return f"-{text}" if sign < 0 else text
    return f" - {text}" if sign < 0 else f" + {text}"


def _product(atom: str, factor: int) -> str:
    if factor == 1:
        return atom
    return f"{factor}*({atom})" if " " in atom else f"{factor}*{atom}"


def linear(aff: Aff, names: Sequence[str] | None = None) -> Linear:
    """A quasi-affine expression as a sum; ``d * floor(x / d)`` becomes ``x - x % d``."""
    scale = aff.get_denominator_val()
    terms: dict[str, int] = {}
    for kind in (dim_type.in_, dim_type.param):
        for position in range(aff.dim(kind)):
            factor = aff.get_coefficient_val(kind, position).mul(scale).to_python()
            if factor:
                name = names[position] if names is not None and kind == dim_type.in_ else None
                terms[name or aff.get_dim_name(kind, position) or f"x{position}"] = factor
    constant = aff.get_constant_val().mul(scale).to_python()
    total = Linear(terms, constant, scale.to_python())
    for position in range(aff.dim(dim_type.div)):
        factor = aff.get_coefficient_val(dim_type.div, position).mul(scale).to_python()
        if factor:
            total = _with_division(total, linear(aff.get_div(position), names), factor)
    return total


def _with_division(total: Linear, inner: Linear, factor: int) -> Linear:
    """``total + factor * floor(inner)``."""
    dividend, divisor = Linear(inner.terms, inner.constant), inner.divisor
    text = dividend.text() if dividend.atomic else f"({dividend.text()})"
    if factor % divisor == 0:
        times = factor // divisor
        return total.plus(dividend, times).plus(Linear({f"{text} % {divisor}": 1}, 0), -times)
    return total.plus(Linear({f"{text} // {divisor}": 1}, 0), factor)


@dataclass
class _Bounds:
    """What is known of one left-hand side: ``low <= subject <= high``."""

    low: list[Linear]
    high: list[Linear]
    equal: list[Linear]


def _conjunction(part: BasicSet, names: Sequence[str] | None) -> str:
    """One basic set: constraints on the same left-hand side are chained."""
    known: dict[str, _Bounds] = {}
    order = _order(part, names)
    for constraint in part.get_constraints():
        value = linear(constraint.get_aff(), names)
        subject, rest, positive = _solve(value, order, part.dim(dim_type.param))
        bounds = known.setdefault(subject, _Bounds([], [], []))
        if constraint.is_equality():
            bounds.equal.append(rest)
        else:
            (bounds.low if positive else bounds.high).append(rest)
    rank = {name: position for position, name in enumerate(order)}
    texts = [
        text
        for subject in sorted(known, key=lambda s: (rank.get(s, len(rank)), s))
        for text in _chain(subject, known[subject])
    ]
    return " and ".join(texts) or "true"


def _order(part: BasicSet, names: Sequence[str] | None) -> list[str]:
    """Parameters, then dimensions from the outside in."""
    found = [part.get_dim_name(dim_type.param, k) or "" for k in range(part.dim(dim_type.param))]
    for position in range(part.dim(dim_type.set)):
        own = part.get_dim_name(dim_type.set, position) or f"x{position}"
        found.append(names[position] if names is not None else own)
    return found


def _solve(value: Linear, order: list[str], params: int) -> tuple[str, Linear, bool]:
    """``value >= 0`` as ``subject >= rest`` (true) or ``subject <= rest`` (false).

    The subject is a remainder where there is one, else an iterator, those without a factor
    and then inner ones first; ``order`` has ``params`` parameters before the iterators.
    """
    rank = {name: position for position, name in enumerate(order)}

    def preference(atom: str) -> tuple[bool, bool, bool, int]:
        place = rank.get(atom, -1)
        return " " in atom, place >= params, abs(value.terms[atom]) == 1, place

    by_preference = sorted(value.terms, key=preference)
    if not by_preference:
        return "0", Linear({}, -value.constant), True
    atom = by_preference[-1]
    factor = value.terms[atom]
    others = {name: number for name, number in value.terms.items() if name != atom}
    sign = -1 if factor > 0 else 1
    rest = Linear({name: sign * number for name, number in others.items()}, sign * value.constant)
    return _product(atom, abs(factor)), rest, factor > 0


def _chain(subject: str, bounds: _Bounds) -> list[str]:
    texts = [f"{subject} == {rest.text()}" for rest in bounds.equal]
    remainder = " % " in subject
    lows = [low for low in bounds.low if not (remainder and low == Linear({}, 0))]
    highs = list(bounds.high)
    while lows or highs:
        low = lows.pop(0) if lows else None
        high = highs.pop(0) if highs else None
        text = subject
        if high is not None:
            text += f" {_upper(high)}"
        if low is not None and high is not None:
            text = f"{_lower(low)} {text}"
        elif low is not None:
            strict = low.terms and low.constant == 1
            text += f" > {low.plus(_ONE, -1).text()}" if strict else f" >= {low.text()}"
        texts.append(text)
    return texts


_ONE = Linear({}, 1)


def _upper(rest: Linear) -> str:
    if rest.terms and rest.constant < 0:
        return f"< {rest.plus(_ONE).text()}"
    return f"<= {rest.text()}"


def _lower(rest: Linear) -> str:
    if rest.terms and rest.constant == 1:
        return f"{rest.plus(_ONE, -1).text()} <"
    return f"{rest.text()} <="
