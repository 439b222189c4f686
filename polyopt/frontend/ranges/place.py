"""What is known of locals where a statement runs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from polyopt.ir.expr import Affine, Cast, Expr, Inside, Load, RangeHint, payload
from polyopt.ir.types import contains
from polyopt.isl import dim_type
from polyopt.memo import memo

if TYPE_CHECKING:
    from collections.abc import Mapping

    from polyopt.ir.scop import Statement


@dataclass(frozen=True, eq=False)
class Place:
    """A statement, and what is known of arrays where it runs."""

    statement: Statement
    held: Mapping[str, Held]
    #: how often arrays were written before
    versions: Mapping[str, int]

    def holding(self, node: Expr) -> Held | None:
        """What a statement of this iteration wrote where a load reads."""
        held = self.held.get(node.array) if isinstance(node, Load) else None
        if held is None or not isinstance(node, Load) or not self.statement.is_own(node.index):
            return None
        return held if covers(held.place.statement, self.statement) else None

    def key(self, node: Expr) -> object:
        """What tells values apart: a local by its version."""
        if isinstance(node, Cast) and contains(node.type, node.operand.type):
            return self.key(node.operand)
        if isinstance(node, RangeHint):
            return self.key(node.operand)
        own: object = payload(node)
        if isinstance(node, Affine):
            own = str(node.form)
        elif isinstance(node, Inside):
            own = str(node.where)
        elif isinstance(node, Load):
            own = (node.array, self.versions.get(node.array, 0))
            if self.statement.is_own(node.index):  # the same in all statements of an iteration
                return (Load, node.type, own)
        return (type(node), node.type, own, *map(self.key, node.children))


@dataclass(frozen=True, eq=False)
class Held:
    """What may have written an element last in this iteration: one of these."""

    writers: tuple[Place, ...]
    #: whether it was the last of them for sure
    is_sure: bool

    @property
    def place(self) -> Place:
        """The writer that ran wherever others did."""
        return self.writers[0]


@memo
def covers(writer: Statement, reader: Statement) -> bool:
    """Whether a writer runs in each iteration of the loops around it in which a reader does."""
    depth, count = len(writer.iterators), len(reader.iterators)
    if depth > count:
        return False
    outer = reader.domain.project_out(dim_type.set, depth, count - depth)
    return outer.reset_tuple_id().is_subset(writer.domain.reset_tuple_id())
