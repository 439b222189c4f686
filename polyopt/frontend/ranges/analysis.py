"""The analysis: ranges of what statements store, and what conditions say of values."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING

from polyopt.frontend.ranges.place import Held, Place, covers
from polyopt.frontend.ranges.range import Range
from polyopt.ir.block import Block
from polyopt.ir.build import value_range
from polyopt.ir.expr import (
    Affine,
    Binary,
    Cast,
    Compare,
    Const,
    Expr,
    Load,
    RangeHint,
    Select,
    Unary,
    walk,
)
from polyopt.ir.index_bounds import index_bounds
from polyopt.ir.scop import statements_in
from polyopt.ir.types import BOOL, contains
from polyopt.isl import Map, PwAff, Set, affine_constant, dim_type, params_space

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from polyopt.ir.scop import Loop, Scop, Statement
    from polyopt.ir.types import ScalarType


#: bounds of values by what they are: see ``Place.key``
Facts = dict[object, Range]


def nodes(statement: Statement) -> Iterator[Expr]:
    """The parts of a value that is no block's."""
    return iter(()) if isinstance(statement.value, Block) else walk(statement.value)


def is_open(statement: Statement, node: Expr) -> bool:
    """Whether a load has a subscript without bounds."""
    return isinstance(node, Load) and any(_is_unknown(part, statement) for part in node.index)


def _is_unknown(part: Expr, statement: Statement) -> bool:
    return any(bound is None for bound in index_bounds(part, statement.space))


@dataclass(frozen=True, eq=False)
class Analysis:
    """The statements of a program, in the order of one iteration."""

    scop: Scop
    wraps: bool
    made: list[Statement] = field(default_factory=list["Statement"])
    _held: dict[str, Held] = field(default_factory=dict[str, Held])
    #: versions of arrays, and all that has written into them so far
    _versions: dict[str, int] = field(default_factory=dict[str, int])
    _written: dict[str, list[Place]] = field(default_factory=dict[str, list[Place]])
    _known: dict[Place, Range] = field(default_factory=dict["Place", Range])
    #: steps that are left for a subscript, in one place
    _left: list[int] = field(default_factory=lambda: [0])

    @cached_property
    def _writers(self) -> Mapping[str, int]:
        names = [s.array for s in self.scop.statements]
        temps = [a.name for a in self.scop.arrays if a.role == "temp"]
        return {name: names.count(name) for name in temps}

    @cached_property
    def _relevant(self) -> frozenset[str]:
        """The local arrays that subscripts without bounds, and conditions on them, are made of."""
        found: set[str] = set()
        waiting = [s for s in self.scop.statements if any(is_open(s, n) for n in nodes(s))]
        while waiting:
            read = {n.array for n in nodes(waiting.pop()) if isinstance(n, Load)}
            new = (read & self._writers.keys()) - found
            found |= new
            waiting += [s for s in self.scop.statements if s.array in new]
        return frozenset(found)

    @cached_property
    def _sizes(self) -> Set:
        """The sizes that there are: what the program computes of them fits its types."""
        result = self.scop.context
        for statement in self.scop.statements:
            for node in nodes(statement):
                if isinstance(node, Affine) and self._is_of_sizes(node.form):
                    form = node.form.project_domain_on_params()
                    low, high = (self._number(n) for n in node.type.range)
                    result = result.intersect(form.ge_set(low)).intersect(form.le_set(high))
        return result

    @staticmethod
    def _is_of_sizes(form: PwAff) -> bool:
        return not form.involves_dims(dim_type.in_, 0, form.dim(dim_type.in_))

    def _number(self, value: int) -> PwAff:
        return affine_constant(params_space(self.scop.params), value)

    # -- statements -------------------------------------------------------------------------

    def run(self, nest: Sequence[Loop | str]) -> None:
        """Statements in the order of one iteration."""
        for node in nest:
            if isinstance(node, str):
                self._statement(self.scop.statement(node))
                continue
            inside = {self.scop.statement(name).array for name in statements_in(node)}
            self._forget(inside)
            self.run(node.body)
            self._forget(inside)

    def _forget(self, arrays: set[str]) -> None:
        for array in arrays:
            self._held.pop(array, None)
            self._versions[array] = self._versions.get(array, 0) + 1

    def _statement(self, statement: Statement) -> None:
        place = Place(statement, dict(self._held), dict(self._versions))
        if not isinstance(statement.value, Block):
            value = self._bounded(statement.value, place, {})
            if value is not statement.value:
                self.made.append(replace(statement, value=value))
        array = statement.array
        if array in self._relevant:
            self._known[place] = self._stored(place)
        self._written.setdefault(array, []).append(place)
        before = self._held.get(array)
        self._forget({array})
        if array not in self._writers or not statement.is_own(statement.index):
            return
        if before is None or covers(statement, before.place.statement):
            self._held[array] = Held((place,), is_sure=True)
        elif covers(before.place.statement, statement):
            self._held[array] = Held((*before.writers, place), is_sure=False)

    def _bounded(self, node: Expr, place: Place, facts: Facts) -> Expr:
        """A value whose subscripts have bounds, given what holds where it is evaluated."""
        if not any(is_open(place.statement, part) for part in walk(node)):
            return node
        given, self._left[0] = [facts] * len(node.children), _MOST_STEPS
        if isinstance(node, Select):
            given[1:] = (
                _and(facts, self._facts(node.cond, place, facts, holds=h)) for h in _TRUTHS
            )
        pairs = zip(node.children, given, strict=True)
        children = tuple(self._bounded(child, place, known) for child, known in pairs)
        if any(new is not old for new, old in zip(children, node.children, strict=True)):
            node = node.with_children(children)
        if not isinstance(node, Load):
            return node
        index = tuple(self._hinted(part, place, facts) for part in node.index)
        same = all(new is old for new, old in zip(index, node.index, strict=True))
        return node if same else replace(node, index=index)

    def _hinted(self, part: Expr, place: Place, facts: Facts) -> Expr:
        if isinstance(part, Affine) or not _is_unknown(part, place.statement):
            return part
        self._left[0] = _MOST_STEPS
        low, high = self._range(part, place, facts)
        if low is None or high is None:
            return part
        return RangeHint(part.type, part, low, high)

    # -- facts ------------------------------------------------------------------------------

    def _facts(self, cond: Expr, place: Place, facts: Facts, *, holds: bool) -> Facts:
        """What follows from a condition, or from its opposite."""
        first, *others = self._cases(cond, place, facts, holds=holds)
        return {} if others else first

    def _cases(self, cond: Expr, place: Place, facts: Facts, *, holds: bool) -> list[Facts]:
        """What follows from a condition, or from its opposite, in each of the cases that there are:
        ``a && b`` fails where ``a`` does, or where ``a`` holds and ``b`` fails."""

        def of(part: Expr, *, holds: bool) -> Facts:
            return self._facts(part, place, facts, holds=holds)

        match cond:
            case Unary(op="not"):
                return self._cases(cond.operand, place, facts, holds=not holds)
            case Select(then=Const() as then):
                rest = _and(of(cond.cond, holds=False), of(cond.other, holds=holds))
                return (
                    [rest] if bool(then.value) is not holds else [of(cond.cond, holds=True), rest]
                )
            case Select(other=Const() as other):
                rest = _and(of(cond.cond, holds=True), of(cond.then, holds=holds))
                return (
                    [rest] if bool(other.value) is not holds else [of(cond.cond, holds=False), rest]
                )
            case Binary(op="and" | "or", left=one, right=other) if cond.type == BOOL:
                rest = [_and(of(one, holds=holds), of(other, holds=holds))]
                if (cond.op == "and") is holds:
                    return rest
                return [
                    of(one, holds=holds),
                    _and(of(one, holds=not holds), of(other, holds=holds)),
                ]
            case Compare() if cond.left.type.is_integer:
                return [self._compared(cond, place, facts, holds=holds)]
            case Load():
                truth = self._number(int(holds))
                found: Facts = {place.key(cond): Range(truth, truth)}
                if (held := place.holding(cond)) is not None and held.is_sure:
                    inner = held.place.statement.value
                    found |= self._facts(inner, held.place, facts, holds=holds)
                return [found]
            case _:
                return [{}]

    def _compared(self, cond: Compare, place: Place, facts: Facts, *, holds: bool) -> Facts:
        left, right = (self._range(x, place, facts) for x in (cond.left, cond.right))
        keys = place.key(cond.left), place.key(cond.right)
        if cond.op in {"eq", "ne"}:
            found = {keys[0]: right, keys[1]: left} if holds is (cond.op == "eq") else {}
        else:
            apart = int((cond.op == "lt") is holds)
            if not holds:
                left, right, keys = right, left, (keys[1], keys[0])
            found = {
                keys[0]: Range(high=self._plus(right.high, -apart)),
                keys[1]: Range(low=self._plus(left.low, apart)),
            }
        numbers = {place.key(x) for x in cond.children if isinstance(x, (Const, Affine))}
        return {key: known for key, known in found.items() if key not in numbers}

    def _plus(self, bound: PwAff | None, number: int) -> PwAff | None:
        return None if bound is None else bound.add(self._number(number))

    # -- ranges -----------------------------------------------------------------------------

    def _range(self, node: Expr, place: Place, facts: Facts) -> Range:
        """The values that an integer can have."""
        self._left[0] -= 1
        is_spent = self._left[0] < 0 and isinstance(node, (Load, Select))
        found = Range() if is_spent else self._own_range(node, place, facts)
        known = facts.get(place.key(node))
        return self._plain(found if known is None else found.meet(known))

    def _own_range(self, node: Expr, place: Place, facts: Facts) -> Range:
        of_type = self._of_type(node) if node.type.is_integer else Range()
        match node:
            case Const():
                return Range(self._number(int(node.value)), self._number(int(node.value)))
            case Affine():
                return self._affine(node, place.statement)
            case RangeHint():
                return Range(node.low, node.high)
            case Load():
                return self._loaded(node, place, facts).meet(of_type)
            case Cast() if node.operand.type.is_integer:
                inner = self._range(node.operand, place, facts)
                if not contains(node.type, node.operand.type):
                    inner = self._fitting(inner, node.type, is_sum=False)
                return inner.meet(of_type)
            case Select():
                return self._chosen(node, place, facts).meet(of_type)
            case Unary(op="neg"):
                zero, operand = self._number(0), self._range(node.operand, place, facts)
                found = self._operation("sub", Range(zero, zero), operand)
                return self._fitting(found, node.type, is_sum=True).meet(of_type)
            case Binary():
                left, right = (self._range(c, place, facts) for c in node.children)
                found = self._operation(node.op, left, right)
                return self._fitting(found, node.type, is_sum=True).meet(of_type)
            case _:
                return of_type

    def _chosen(self, node: Select, place: Place, facts: Facts) -> Range:
        """The values of either operand, each where it is chosen."""
        truth = facts.get(place.key(node.cond))
        result: Range | None = None
        for holds, side in zip(_TRUTHS, (node.then, node.other), strict=True):
            if truth is not None and self._excludes(truth, int(holds)):
                continue
            for case in self._cases(node.cond, place, facts, holds=holds):
                found = self._range(side, place, _and(facts, case))
                result = found if result is None else result.join(found)
        return result or Range()

    def _excludes(self, found: Range, number: int) -> bool:
        """Whether a truth is the other one."""
        return self._is_at_least(found.low, number + 1) or self._is_at_most(found.high, number - 1)

    def _of_type(self, node: Expr) -> Range:
        """What types and constants say."""
        bounds = (n if abs(n) < _WIDE else None for n in value_range(node))
        return Range(*(n if n is None else self._number(n) for n in bounds))

    def _affine(self, node: Affine, statement: Statement) -> Range:
        if self._is_of_sizes(node.form):
            bound = node.form.project_domain_on_params()
            return Range(bound, bound)
        form = node.form.set_tuple_id(dim_type.in_, statement.domain.get_tuple_id())
        values = Map.from_pw_aff(form).intersect_domain(statement.domain)
        values = values.intersect_params(self.scop.context).range()
        if values.is_empty():
            return Range()
        low = values.dim_min(0) if values.dim_has_lower_bound(dim_type.set, 0) else None
        return Range(
            low, values.dim_max(0) if values.dim_has_upper_bound(dim_type.set, 0) else None
        )

    def _loaded(self, node: Load, place: Place, facts: Facts) -> Range:
        held = place.holding(node)
        if held is not None:
            found = self._joined(held.writers)
            if held.is_sure and any(map(_is_truth, facts)):
                again = self._range(held.place.statement.value, held.place, facts)
                return found.meet(again)
            return found
        written = self._written.get(node.array, [])
        if not written or len(written) != self._writers.get(node.array):
            return Range()
        return self._joined(written)

    def _joined(self, writers: Sequence[Place]) -> Range:
        """What some statements store."""
        first, *others = (self._known.get(writer, Range()) for writer in writers)
        for other in others:
            first = first.join(other)
        return first

    def _stored(self, place: Place) -> Range:
        """What a statement stores, whatever the conditions are under which that is read."""
        value = place.statement.value
        if isinstance(value, Block) or not value.type.is_integer:
            return Range()
        self._left[0] = _MOST_STEPS
        return self._range(value, place, {})

    def _operation(self, op: str, left: Range, right: Range) -> Range:
        """Interval arithmetic over whole numbers."""
        match op:
            case "add":
                return left.plus(right)
            case "sub":
                return left.minus(right)
            case "min":
                return left.minimum(right)
            case "max":
                return left.maximum(right)
            case "mod" | "floormod" if self._is_at_least(right.low, 1) and right.high is not None:
                most = right.high.sub(self._number(1))
                if op == "floormod" or self._is_at_least(left.low, 0):
                    return Range(self._number(0), most)
                return Range(most.neg(), most)
            case _:
                return Range()

    def _fitting(self, found: Range, type_: ScalarType, *, is_sum: bool) -> Range:
        """A range of whole numbers as one of a type, where no value leaves it."""
        low, high = type_.range
        if not self.wraps and is_sum and low < 0:
            return found
        fits = self._is_at_least(found.low, low) and self._is_at_most(found.high, high)
        return found if fits else Range()

    def _is_at_least(self, bound: PwAff | None, number: int) -> bool:
        return (
            bound is not None
            and bound.lt_set(self._number(number)).intersect(self._sizes).is_empty()
        )

    def _is_at_most(self, bound: PwAff | None, number: int) -> bool:
        return (
            bound is not None
            and bound.gt_set(self._number(number)).intersect(self._sizes).is_empty()
        )

    def _plain(self, found: Range) -> Range:
        """Bounds in few pieces, which are those of sizes that there are."""
        return Range(*(None if bound is None else self._in_few_pieces(bound) for bound in found))

    def _in_few_pieces(self, bound: PwAff) -> PwAff | None:
        """One of its pieces, where that is the whole for all sizes that there are; else the whole,
        if it has no more than a few."""
        whole = bound.intersect_params(self.scop.context).coalesce()
        for _, value in whole.get_pieces():
            found = PwAff.from_aff(value)
            if found.intersect_params(self.scop.context).is_equal(whole):
                return found
        return whole if whole.n_piece() <= _MOST_PIECES else None


#: steps that a subscript may take: in a chain of conditions on conditions each doubles them
_MOST_STEPS = 120
#: pieces of a bound: one for each order of a few sizes
_MOST_PIECES = 4
#: the cases of a choice, in the order of its operands
_TRUTHS = (True, False)
#: numbers that are beyond all subscripts, as those at the ends of wide types
_WIDE = (1 << 31) - 1


def _is_truth(key: object) -> bool:
    """Whether a fact is one of a local truth, by which an earlier value may have been chosen."""
    return isinstance(key, tuple) and key[:2] == (Load, BOOL)


def _and(one: Facts, other: Facts) -> Facts:
    """What both say."""
    return one | {key: found.meet(one.get(key, Range())) for key, found in other.items()}
