"""Axes of which only the first elements are valid, from operator to operator.

A selection by data has as many elements as data choose. Its tensor has room for the most that there
can be, and another one counts the valid ones. An operator of which row ``r`` of the result depends
on row ``r`` of such a tensor has as many valid rows; that is found out from its stages. What
depends on more rows, or on how many there are, is refused: it would compute with rows that are not
there.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from polyopt.errors import UnsupportedError
from polyopt.graph.fusion.lower import group_of, lower
from polyopt.graph.fusion.patterns import element_reads
from polyopt.graph.ir.graph import Graph, ValidLength
from polyopt.isl import Map, dim_type

if TYPE_CHECKING:
    from collections.abc import Mapping

    from polyopt.graph.ir.graph import Node, Value


def valid_length(
    node: Node, values: Mapping[str, Value], known: Mapping[str, ValidLength]
) -> ValidLength | None:
    """Which axis of a node's result has a valid length, and which; nothing where no operand has.

    Raises ``UnsupportedError`` for an operator that reads such operands otherwise than row by row.
    """
    given = [known[name] for name in dict.fromkeys(node.operands) if name in known]
    if not given:
        return None
    count, first = given[0].count, given[0]
    other = next((each for each in given if each.count != count), None)
    if other is not None:
        raise UnsupportedError(
            f"{node.op} reads {first.tensor!r} and {other.tensor!r}, which have different sizes"
            " that depend on data"
        )
    reads = _reads(node, values)
    extent, shape = values[first.tensor].shape[first.axis], values[node.name].shape
    axes = [
        axis for axis, most in enumerate(shape)
        if most == extent and all(_fits(relation, axis, known.get(name))
                                  for name, relation in reads.items())
    ]  # fmt: skip
    if len(axes) != 1 or not any(each.tensor in reads for each in given):
        raise UnsupportedError(
            f"{node.op} reads {first.tensor!r}, whose size along axis {first.axis} depends on data,"
            " otherwise than row by row",
            hint="end the model before it",
        )
    return ValidLength(node.name, axes[0], count)


def _reads(node: Node, values: Mapping[str, Value]) -> dict[str, Map]:
    """``{ result[i] -> operand[j] }`` of each operand that is read."""
    names = tuple(dict.fromkeys(node.operands))
    alone = Graph(node.op, tuple(values[name] for name in names), {}, (node,), (node.name,))
    lowered = lower(alone, group_of(alone, [node]))
    found = element_reads(lowered.scop, lowered.arrays[node.name])
    arrays = {name: lowered.arrays[name] for name in names}
    return {name: found[array] for name, array in arrays.items() if array in found}


def _fits(relation: Map, axis: int, length: ValidLength | None) -> bool:
    """Whether results along an axis read the same row of an operand with a valid length, or of
    others what does not depend on the row."""
    if length is not None:
        return relation.equate(dim_type.in_, axis, dim_type.out, length.axis).is_equal(relation)
    domain = relation.domain()
    beside = Map.from_domain_and_range(domain, domain)
    for d in range(relation.dim(dim_type.in_)):
        beside = beside if d == axis else beside.equate(dim_type.in_, d, dim_type.out, d)
    return beside.apply_range(relation).is_equal(relation)
