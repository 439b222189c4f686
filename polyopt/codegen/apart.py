"""Whether an iteration of a vector loop reaches one element by subscripts that look different.

``omp simd`` says that no iteration needs another one. gcc and clang take it to mean that two
accesses that are not seen to be of one element are of two, within an iteration, too: they join the
stores of ``a[3*t]``, ``a[3*t + 1]`` and ``a[3*t + 2]``, past a store of ``a[0]`` where ``t`` is 0.

relation: a clash is ``{ S[d] -> T[d'] }`` on one element, one of the two a store, where all loops
up to the vector loop agree, and the texts of the subscripts do not
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property, reduce
from itertools import groupby
from typing import TYPE_CHECKING

from polyopt.ir.expr import Affine, Binary, Const, loads, walk
from polyopt.isl import Map, dim_type, tuple_name
from polyopt.transform.tree import prefix_map

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from polyopt.codegen.leaves import Leaf
    from polyopt.ir.expr import Expr
    from polyopt.isl import Set
    from polyopt.transform.program import Program
    from polyopt.transform.tree import PlanLoop

_OFFSET = re.compile(r"(.*?)(?: ([+-]) (\d+))?")


@dataclass(frozen=True, eq=False)
class _Place:
    """An access of a leaf: C of its subscripts as isl writes it, and what they reach."""

    leaf: Leaf
    array: str
    index: tuple[Expr, ...]
    writes: bool
    program: Program
    #: the vector loop, and those around it
    path: tuple[PlanLoop, ...]

    @cached_property
    def texts(self) -> tuple[str, ...]:
        """One per subscript; one that data decide is told by what is affine in it."""
        return tuple(
            ", ".join(self.leaf.affine[id(n)].to_C_str() for n in walk(e) if isinstance(n, Affine))
            for e in self.index
        )

    @cached_property
    def elements(self) -> Map:
        """``{ [v] -> [e] }``, ``v`` the values of the loops; any place where data decide."""
        assert self.leaf.to_copy is not None
        instances = self.leaf.to_copy.as_map().range()
        parts = [_values(e, instances) for e in self.index]
        whole = reduce(lambda one, other: one.flat_range_product(other), parts)
        copy = self.program.copies[tuple_name(instances)]
        return prefix_map(copy, self.path).reverse().apply_range(whole)


def looks_apart(leaves: Iterable[Leaf], program: Program, path: tuple[PlanLoop, ...]) -> bool:
    """Whether compilers would take an element of an iteration for two.

    The leaves are those in the vector loop, which is the last one of the path.
    """
    found = (p for leaf in leaves for p in _places(leaf, program, path))
    places = sorted(found, key=lambda p: p.array)
    for _, group in groupby(places, key=lambda p: p.array):
        found = {(p.texts, p.writes): p for p in group}
        stores = [p for p in found.values() if p.writes]
        if any(_clash(one, other) for one in stores for other in found.values()):
            return True
    return False


def _places(leaf: Leaf, program: Program, path: tuple[PlanLoop, ...]) -> Iterator[_Place]:
    if leaf.to_copy is None:
        return
    made = leaf.assignment
    if made.index:
        yield _Place(leaf, made.buffer, made.index, True, program, path)
    for load in loads(made.value):
        if load.index:
            yield _Place(leaf, load.array, load.index, False, program, path)


def _values(subscript: Expr, instances: Set) -> Map:
    """``{ C[d] -> [e] }``: rows of a buffer go round; any value where data decide."""
    match subscript:
        case Affine():
            return subscript.form.as_map().intersect_domain(instances)
        case Binary(op="mod", left=Affine() as row, right=Const(value=int() as rows)):
            return row.form.mod_val(rows).as_map().intersect_domain(instances)
        case _:
            return Map.from_domain(instances).add_dims(dim_type.out, 1)


def _clash(one: _Place, other: _Place) -> bool:
    if one.texts == other.texts or _are_neighbours(one.texts, other.texts):
        return False
    return not one.elements.intersect(other.elements).is_empty()


def _are_neighbours(one: tuple[str, ...], other: tuple[str, ...]) -> bool:
    """Whether texts are a number apart in some subscript, and the same but for such numbers."""
    pairs = [(_parts(a), _parts(b)) for a, b in zip(one, other, strict=True)]
    return all(a[0] == b[0] for a, b in pairs) and any(a[1] != b[1] for a, b in pairs)


def _parts(text: str) -> tuple[str, int]:
    """``c0 + 3`` as ``c0`` and 3."""
    found = _OFFSET.fullmatch(text)
    if found is None or found[3] is None:
        return text, 0
    return found[1], int(found[2] + found[3])
