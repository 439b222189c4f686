"""What the source's loops allow: which carry no dependence, which can be exchanged."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from polyopt.analysis.distance import find_witness
from polyopt.ir.expr import Binary, Load, loads, same_expr
from polyopt.ir.scop import Loop
from polyopt.isl import (
    Map,
    UnionMap,
    dim_type,
    empty_map,
    maps_of,
    tuple_name,
    union_all,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from polyopt.analysis.dependences import Dependences
    from polyopt.errors import Witness
    from polyopt.ir.scop import Scop, Statement


@dataclass(frozen=True, eq=False)
class LoopProperty:
    """One loop of the source nest and what its dependences allow."""

    #: iterators of the loops from the outermost one to this one
    path: tuple[str, ...]
    #: the statements inside, in textual order
    statements: tuple[str, ...]
    #: one witness per kind of dependence that the loop carries; none: it is coincident
    carried: tuple[Witness, ...]
    #: whether the loop carries reduction dependences at most
    reduction: bool
    #: whether it can be exchanged with the loop directly inside; false without exactly one
    permutable: bool
    #: the dependence that an exchange with the loop directly inside would turn round
    blocked: Witness | None
    #: whether only reduction dependences stand against that exchange
    blocked_by_reduction: bool = False

    @property
    def iterator(self) -> str:
        """The loop's own iterator."""
        return self.path[-1]

    @property
    def coincident(self) -> bool:
        """Whether its iterations are independent: it may run in parallel."""
        return not self.carried

    def __str__(self) -> str:
        """``y > x: carries flow S[0, 1] -> S[1, 0] ...``."""
        facts = ["coincident"] if self.coincident else [f"carries {w}" for w in self.carried]
        if self.reduction and self.carried:
            facts.append("a reduction")
        if self.permutable:
            facts.append("permutable with the loop inside")
        elif self.blocked is not None:
            facts.append(f"an exchange would turn round {self.blocked}")
        return f"{' > '.join(self.path)}: {'; '.join(facts)}"


def loop_properties(scop: Scop, deps: Dependences) -> tuple[LoopProperty, ...]:
    """The properties of every loop of the source nest, outer loops before inner ones.

    Value-based dependences decide: every memory-based one is a chain of them, and no link of a
    chain goes backwards in an outer loop.
    """
    kinds = {
        kind: maps_of(relation)
        for kind, relation in (
            ("flow", deps.flow),
            ("anti", deps.value_anti),
            ("output", deps.value_output),
        )
    }
    reductions = reduction_dependences(scop, deps)
    return tuple(
        _property(scop, loop, path, kinds, reductions) for loop, path in loops_of(scop.nest)
    )


def loops_of(
    body: tuple[Loop | str, ...], path: tuple[str, ...] = ()
) -> Iterator[tuple[Loop, tuple[str, ...]]]:
    """Each loop with the iterators from the outermost loop to it, outer loops first."""
    for node in body:
        if isinstance(node, Loop):
            here = (*path, node.iterator)
            yield node, here
            yield from loops_of(node.body, here)


def statements_in(loop: Loop) -> tuple[str, ...]:
    """The statements inside a loop, in textual order."""
    found: list[str] = []
    for node in loop.body:
        found += statements_in(node) if isinstance(node, Loop) else (node,)
    return tuple(found)


def _property(
    scop: Scop,
    loop: Loop,
    path: tuple[str, ...],
    kinds: dict[str, list[Map]],
    reductions: UnionMap,
) -> LoopProperty:
    inside, depth = statements_in(loop), len(path) - 1
    carried = {
        kind: union_all(carried_at(pairs, depth) for pairs in _between(relation, inside))
        for kind, relation in kinds.items()
    }
    inner = loop.body[0] if len(loop.body) == 1 else None
    turned: dict[str, UnionMap] = {}
    if isinstance(inner, Loop):
        turned = _turned(kinds, inside, depth, inner.step)
    blocked = _witnesses(scop, turned)
    return LoopProperty(
        path,
        inside,
        _witnesses(scop, carried),
        union_all(carried.values()).is_subset(reductions),
        isinstance(inner, Loop) and not blocked,
        blocked[0] if blocked else None,
        bool(blocked) and union_all(turned.values()).is_subset(reductions),
    )


def _witnesses(scop: Scop, pairs: dict[str, UnionMap]) -> tuple[Witness, ...]:
    """One per kind that has any."""
    found = (find_witness(scop, kind, relation) for kind, relation in pairs.items())
    return tuple(witness for witness in found if witness is not None)


def _between(relation: Iterable[Map], names: tuple[str, ...]) -> list[Map]:
    """The parts of a relation whose both ends are among the statements."""
    return [
        part
        for part in relation
        if tuple_name(part, dim_type.in_) in names and tuple_name(part, dim_type.out) in names
    ]


def same_outer(pairs: Map, depth: int) -> Map:
    """The pairs ``{ S[i] -> T[k] }`` that agree in the outer ``depth`` iterators."""
    for position in range(depth):
        pairs = pairs.equate(dim_type.in_, position, dim_type.out, position)
    return pairs


def carried_at(pairs: Map, depth: int) -> Map:
    """The pairs that the loop at ``depth`` (from 0) separates, and no loop outside it."""
    outer = same_outer(pairs, depth)
    return outer.subtract(outer.equate(dim_type.in_, depth, dim_type.out, depth))


def _turned(
    kinds: dict[str, list[Map]], inside: tuple[str, ...], depth: int, inner_step: int
) -> dict[str, UnionMap]:
    """Per kind, what is forward in the loop at ``depth`` and backward in the one inside it."""
    return {
        kind: union_all(
            _backward(carried_at(pairs, depth), depth + 1, inner_step)
            for pairs in _between(relation, inside)
        )
        for kind, relation in kinds.items()
    }


def _backward(pairs: Map, position: int, step: int) -> Map:
    """The pairs whose sink comes earlier in the loop at ``position``."""
    source, sink = (dim_type.in_, dim_type.out) if step > 0 else (dim_type.out, dim_type.in_)
    return pairs.order_gt(source, position, sink, position)


def reduction_dependences(scop: Scop, deps: Dependences) -> UnionMap:
    """``{ S[i] -> S[k] }``: the chain of updates of one accumulator, which may run in any order
    where the operation's rounding does not matter.
    """
    result = empty_map()
    for statement in scop.statements:
        ref = _accumulator(statement)
        if ref is not None:
            result = result.union(_chain(deps, statement.name, ref))
    return result.coalesce()


def _accumulator(statement: Statement) -> str | None:
    """The reference that reads back what the statement updates, if no other load reads it."""
    value = statement.value
    if statement.reduction is None or not isinstance(value, Binary):
        return None
    nodes = loads(value)
    if sum(node.array == statement.array for node in nodes) != 1:
        return None
    position, node = next((k, n) for k, n in enumerate(nodes) if n.array == statement.array)
    same = isinstance(node, Load) and all(map(same_expr, node.index, statement.index))
    return statement.reads[position].ref if same else None


def _chain(deps: Dependences, name: str, ref: str) -> UnionMap:
    """``{ S[i] -> S[k] }``: flow through the accumulating read, and the overwriting."""
    flow = [
        part.range_factor_domain()
        for part in maps_of(deps.tagged_flow)
        if tuple_name(part, dim_type.in_) == name
        and tuple_name(part.range().unwrap(), dim_type.out) == ref
    ]
    return union_all([*flow, *_between(maps_of(deps.value_output), (name,))])
