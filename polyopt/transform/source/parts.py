"""Value numbering of a statement's value: its distinct parts, and the loops that each is of."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from math import lcm
from typing import TYPE_CHECKING

from polyopt.ir.expr import (
    Affine,
    Binary,
    Call,
    Const,
    Expr,
    Inside,
    Load,
    Select,
    Unary,
    payload,
)
from polyopt.ir.index_bounds import index_bounds
from polyopt.ir.types import BOOL
from polyopt.isl import affine_constant, affine_var, dim_type, joined_values, tuple_name
from polyopt.memo import memo

if TYPE_CHECKING:
    from collections.abc import Iterator

    from polyopt.ir.scop import Statement
    from polyopt.isl import PwAff
    from polyopt.transform.source.forwarding import Forwarding

#: positions of iterators, outermost first
Loops = frozenset[int]
#: what depends on more than loops: it reads what its own nest writes
CHANGES = -1


@dataclass(frozen=True, eq=False)
class Parts:
    """The distinct parts of a value by number, operands before what they are operands of."""

    statement: Statement
    #: arrays whose elements differ from instance to instance
    written: frozenset[str]
    #: locals that are what they hold
    forwarding: Forwarding
    _numbers: dict[object, int] = field(default_factory=dict[object, int], init=False)
    _known: dict[int, int] = field(default_factory=dict[int, int], init=False)
    #: one node per number, and the numbers of its operands
    nodes: list[Expr] = field(default_factory=list[Expr], init=False)
    operands: list[tuple[int, ...]] = field(default_factory=list[tuple[int, ...]], init=False)

    def __post_init__(self) -> None:
        """Number all of the value."""
        self.number(self.statement.value)

    def number(self, node: Expr) -> int:
        """That of all parts which compute the same."""
        known = self._known.get(id(node))
        if known is not None:
            return known
        node = self.seen(node)
        below = tuple(map(self.number, node.children))
        key = (type(node), node.type, _own(node), below)
        found = self._numbers.setdefault(key, len(self.nodes))
        if found == len(self.nodes):
            self.nodes.append(node)
            self.operands.append(below)
        self._known[id(node)] = found
        return found

    def seen(self, node: Expr) -> Expr:
        """A part, seen through a local."""
        return self.forwarding.held(node, self.statement) or node

    @cached_property
    def loops(self) -> list[Loops]:
        """The loops that each part depends on."""
        return self.without(None)

    @memo
    def without(self, key: int | None) -> list[Loops]:
        """The loops that each part depends on, but for what depends on part ``key``."""
        result: list[Loops] = []
        for number, below in enumerate(self.operands):
            inner = frozenset[int]().union(self._own_loops[number], *(result[k] for k in below))
            result.append(frozenset() if number == key else inner)
        return result

    @cached_property
    def _own_loops(self) -> list[Loops]:
        return [self._used(node) for node in self.nodes]

    def _used(self, node: Expr) -> Loops:
        count = range(len(self.statement.iterators))
        match node:
            case Affine():
                used = (k for k in count if node.form.involves_dims(dim_type.in_, k, 1))
            case Inside():
                used = (k for k in count if node.where.involves_dims(dim_type.set, k, 1))
            case Load() if node.array in self.written:
                used = iter((CHANGES,))
            case _:
                used = iter(())
        return frozenset(used)

    @cached_property
    def is_work(self) -> list[bool]:
        """Whether each part is more than what is loaded, or given by iterators."""
        result: list[bool] = []
        for node, below in zip(self.nodes, self.operands, strict=True):
            result.append(_is_operation(node) or any(result[k] for k in below))
        return result

    @cached_property
    def keys(self) -> dict[int, tuple[PwAff, PwAff]]:
        """Integers that are no affine ones, as those that data choose, between bounds which sizes
        give, ``[N] -> { [bound] }``."""
        found: dict[int, tuple[PwAff, PwAff]] = {}
        for number, node in enumerate(self.nodes):
            if not node.type.is_integer or node.type == BOOL or isinstance(node, (Affine, Const)):
                continue
            low, high = range_of(node, self.statement)
            if low is not None and high is not None:
                found[number] = low, high
        return found

    @memo
    def above(self, key: int) -> list[bool]:
        """Whether each part is made of part ``key``, and more than it."""
        result: list[bool] = []
        for below in self.operands:
            result.append(any(k == key or result[k] for k in below))
        return result

    @memo
    def works_on(self, key: int) -> list[bool]:
        """Whether each part is made of part ``key`` by more than a cast."""
        above = self.above(key)
        result: list[bool] = []
        for number, below in enumerate(self.operands):
            own = above[number] and _is_operation(self.nodes[number])
            result.append(own or any(result[k] for k in below))
        return result

    @cached_property
    def moving(self) -> list[Loops]:
        """The loops that each part depends on otherwise than by remainders: these are numbers where
        loops are unrolled."""
        result: list[Loops] = []
        for node, used, below in zip(self.nodes, self._own_loops, self.operands, strict=True):
            own = used
            if isinstance(node, Affine):
                own = frozenset(k for k in used if not _is_periodic(node.form, k))
            result.append(own.union(*(result[k] for k in below)))
        return result

    def choices(self) -> dict[tuple[Loops, bool], None]:
        """The loops that parts depend on, where these are not all; and whether an integer that data
        choose stands for the others."""
        found: dict[tuple[Loops, bool], None] = {}
        every = frozenset(range(len(self.statement.iterators)))
        for number, loops in enumerate(self.loops):
            if self.is_work[number] and loops == self.moving[number] and loops and loops < every:
                found[loops, False] = None
        for key in self.keys:
            works, without = self.works_on(key), self.without(key)
            for number, loops in enumerate(without):
                if works[number] and CHANGES not in loops and loops != self.loops[number]:
                    found[loops, True] = None
        return found


def range_of(expr: Expr, statement: Statement) -> tuple[PwAff | None, PwAff | None]:
    """Bounds of an integer that sizes alone give, ``[N] -> { [bound] }``; ``None`` for others."""
    count = len(statement.iterators)

    def of_sizes() -> Iterator[PwAff | None]:
        for bound in index_bounds(expr, statement.space):
            if bound is None or bound.involves_dims(dim_type.in_, 0, count):
                yield None
            else:
                yield bound.project_domain_on_params()

    low, high = of_sizes()
    return low, high


def _is_operation(node: Expr) -> bool:
    return isinstance(node, (Unary, Binary, Call, Select))


def _is_periodic(form: PwAff, position: int) -> bool:
    """Whether an iterator counts by its remainder alone: ``i % 2``, and not ``i // 2``."""
    steps = [
        value.get_div(d).get_denominator_val().to_python()
        for _, value in form.get_pieces()
        for d in range(value.dim(dim_type.div))
    ]
    if not steps:
        return False
    space = form.get_domain_space()
    here = [affine_var(space, k) for k in range(space.dim(dim_type.set))]
    here[position] = here[position].add(affine_constant(space, lcm(*steps)))
    return form.pullback_pw_multi_aff(joined_values(here, tuple_name(space))).is_equal(form)


def _own(node: Expr) -> object:
    """What tells a node from others of its class over the same operands."""
    if isinstance(node, Affine):
        return str(node.form)
    if isinstance(node, Inside):
        return str(node.where)
    if isinstance(node, Const):
        return repr(node.value)
    return payload(node)
