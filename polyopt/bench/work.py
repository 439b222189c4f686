"""What a program has to do at least: live bytes in and out, and the source's operations."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from polyopt.analysis.sets.count import about
from polyopt.ir.expr import Affine, Binary, Call, Expr, Inside, Load, Select, Unary, walk
from polyopt.isl import dim_type, sets_of, tuple_name

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from polyopt.ir.scop import Scop, Statement
    from polyopt.isl import Set, UnionSet


@dataclass(frozen=True)
class Work:
    """Bytes that cross the program's border once each way, and arithmetic operations."""

    bytes_in: int
    bytes_out: int
    operations: int

    @property
    def bytes(self) -> int:
        """Bytes in and out."""
        return self.bytes_in + self.bytes_out


def work_of(scop: Scop, sizes: Mapping[str, int]) -> Work:
    """The work of a program for given sizes: elements read and written are counted once each.

    About as much where an exact number takes too long (``analysis.count.about``).
    """
    deps = scop.dependences()
    done = sum(operations(scop, s, sizes) for s in scop.statements)
    return Work(_bytes(scop, deps.live_in.range(), sizes), _written(scop, sizes), done)


def least_work(scops: Iterable[Scop], sizes: Mapping[str, int]) -> Work:
    """The least work of programs that compute the same: sums in two passes have fewer terms."""
    found = [work_of(scop, sizes) for scop in dict.fromkeys(scops)]
    return min(found, key=lambda work: work.operations)


def _written(scop: Scop, sizes: Mapping[str, int]) -> int:
    return _bytes(scop, scop.writes.range(), sizes, outputs=True)


def _bytes(
    scop: Scop, elements: UnionSet, sizes: Mapping[str, int], *, outputs: bool = False
) -> int:
    total = 0
    for part in sets_of(elements.coalesce()):
        array = scop.array(tuple_name(part))
        if array.is_live_out if outputs else array.is_live_in:
            total += about(part, sizes) * array.type.bytes
    return total


def operations(scop: Scop, statement: Statement, sizes: Mapping[str, int]) -> int:
    """Arithmetic operations of all instances of a statement, in terms of 32-bit ones.

    One on 64-bit values counts twice: half as many fit into a vector. Subscripts, casts, conditions
    and moves are none. An operation whose operands stay the same along a loop (``alpha * A[i][k]``
    along ``j``) counts once there: a compiler hoists it.
    """
    written = frozenset(s.array for s in scop.statements)
    total = 0
    for expr in _evaluated(statement.value):
        if isinstance(expr, (Binary, Unary, Call)):
            along = _dims_of(expr, written)
            domain = statement.domain if along is None else _onto(statement.domain, along)
            total += about(domain, sizes) * max(1, expr.type.bytes // 4)
    return total


def _evaluated(expr: Expr) -> Iterator[Expr]:
    """The nodes that one instance evaluates, of a selection the costlier side."""
    if isinstance(expr, (Load, Affine, Inside)):
        return
    if isinstance(expr, Select):
        sides = (list(_evaluated(expr.then)), list(_evaluated(expr.other)))
        yield from max(sides, key=len)
        return
    yield expr
    for child in expr.children:
        yield from _evaluated(child)


def _dims_of(expr: Expr, written: frozenset[str]) -> frozenset[int] | None:
    """The iterators, by position, that the value depends on; ``None`` for all of them."""
    result: frozenset[int] = frozenset()
    for node in walk(expr):
        if isinstance(node, Load) and node.array in written:
            return None
        if isinstance(node, Affine):
            rank = node.form.dim(dim_type.in_)
            result |= {d for d in range(rank) if node.form.involves_dims(dim_type.in_, d, 1)}
        if isinstance(node, Inside):
            return None
    return result


def _onto(domain: Set, dims: frozenset[int]) -> Set:
    """A domain's projection onto some of its dimensions."""
    for position in reversed(range(domain.dim(dim_type.set))):
        if position not in dims:
            domain = domain.project_out(dim_type.set, position, 1)
    return domain
