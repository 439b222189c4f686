"""Forward substitution: what a local of an iteration holds, in place of the local.

``float d = (x - c) / w; out[y][x] = in[y][x] * exp(-d * d);`` reads
``in[y][x] * exp(-((x - c) / w) * ((x - c) / w))``.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

from polyopt.ir.block import Block
from polyopt.ir.expr import Expr, Load, loads, pulled_back, walk
from polyopt.ir.scop import Loop
from polyopt.isl import affine_var, dim_type, joined_values
from polyopt.memo import memo

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from polyopt.ir.scop import Scop, Statement

#: nodes of the largest value that is put in place of a local
_MOST_NODES = 200


@dataclass(frozen=True, eq=False)
class Forwarding:
    """The locals of a program that one statement writes, from what its nest does not change."""

    scop: Scop
    _known: dict[tuple[str, str], Expr | None] = field(
        default_factory=dict["tuple[str, str]", "Expr | None"]
    )

    @cached_property
    def _paths(self) -> Mapping[str, tuple[Loop | int, ...]]:
        """The loops around each statement, and its place in the innermost one."""
        return dict(_paths(self.scop.nest, ()))

    @cached_property
    def _makers(self) -> Mapping[str, Statement]:
        """The only writers of local arrays, each at its own iterators."""
        names = [s.array for s in self.scop.statements]
        return {
            s.array: s
            for s in self.scop.statements
            if self.scop.array(s.array).role == "temp"
            and names.count(s.array) == 1
            and not isinstance(s.value, Block)
            and len(s.index) == len(s.iterators) > 0
            and s.is_own(s.index)
        }

    def held(self, load: Expr, reader: Statement) -> Expr | None:
        """What a local holds where a statement reads it, as a value of that statement; ``None``
        where a load is of no such local."""
        maker = self._makers.get(load.array) if isinstance(load, Load) else None
        if maker is None or not isinstance(load, Load) or not reader.is_own(load.index):
            return None
        key = maker.name, reader.name
        if key not in self._known:
            self._known[key] = None  # of what reads itself
            if self._is_before(maker, reader):
                self._known[key] = self._pulled(maker, reader)
        return self._known[key]

    def forwarded(self, value: Expr, reader: Statement) -> Expr:
        """A value with what locals hold in place of them."""
        if (held := self.held(value, reader)) is not None:
            return held
        children = tuple(self.forwarded(child, reader) for child in value.children)
        if all(new is old for new, old in zip(children, value.children, strict=True)):
            return value
        return value.with_children(children)

    def _pulled(self, maker: Statement, reader: Statement) -> Expr | None:
        value = self.forwarded(maker.value, maker)
        written = self.scop.written_around(maker.name)
        if any(load.array in written for load in loads(value)):
            return None
        if sum(1 for _ in walk(value)) > _MOST_NODES:
            return None
        rank = len(maker.iterators)
        there = joined_values([affine_var(reader.space, k) for k in range(rank)], maker.name)
        return pulled_back(value, there)

    def _is_before(self, maker: Statement, reader: Statement) -> bool:
        """Whether a reader runs after the maker in each iteration of all loops around that one."""
        *loops, place = self._paths[maker.name]
        around = self._paths[reader.name]
        if len(around) <= len(loops) or any(
            a is not b for a, b in zip(loops, around, strict=False)
        ):
            return False
        after = around[len(loops)]
        if isinstance(after, Loop):
            inner = loops[-1]
            assert isinstance(inner, Loop)
            after = next(k for k, node in enumerate(inner.body) if node is after)
        rank, count = len(maker.iterators), len(reader.iterators)
        assert isinstance(place, int)
        outer = reader.domain.project_out(dim_type.set, rank, count - rank).reset_tuple_id()
        return after > place and outer.is_subset(maker.domain.reset_tuple_id())


@memo
def forwarding_of(scop: Scop) -> Forwarding:
    """Those of a program."""
    return Forwarding(scop)


def _paths(
    nest: tuple[Loop | str, ...], around: tuple[Loop, ...]
) -> Iterator[tuple[str, tuple[Loop | int, ...]]]:
    for place, node in enumerate(nest):
        if isinstance(node, str):
            yield node, (*around, place)
        else:
            yield from _paths(node.body, (*around, node))
