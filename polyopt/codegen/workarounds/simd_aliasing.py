"""Whether an iteration of a vector loop reaches one element by subscripts that look different.

``omp simd`` says that no iteration needs another one. gcc and clang take it to mean that two
accesses that are not seen to be of one element are of two, within an iteration, too: they join the
stores of ``a[3*t]``, ``a[3*t + 1]`` and ``a[3*t + 2]``, past a store of ``a[0]`` where ``t`` is 0.

relation: a clash is ``{ S[d] -> T[d'] }`` on one element, one of the two a store, where all loops
up to the vector loop agree, and the texts of the subscripts do not
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, reduce
from itertools import combinations, groupby
from typing import TYPE_CHECKING

from polyopt.codegen.expressions.affine import operation_name
from polyopt.ir.expr import Affine, Binary, Const, loads, walk
from polyopt.isl import Map, ast_expr_type, dim_type, tuple_name
from polyopt.transform.schedule.tree import prefix_map

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from polyopt.codegen.lower.isl_ast import Leaf
    from polyopt.ir.expr import Expr
    from polyopt.isl import AstExpr, Set
    from polyopt.transform.schedule.program import ScheduledProgram
    from polyopt.transform.schedule.tree import PlanLoop


@dataclass(frozen=True, eq=False)
class _Place:
    """An access of a leaf: its subscripts as isl has them, and what they reach."""

    leaf: Leaf
    array: str
    index: tuple[Expr, ...]
    writes: bool
    program: ScheduledProgram
    #: the vector loop, and those around it
    path: tuple[PlanLoop, ...]

    @cached_property
    def parts(self) -> tuple[tuple[AstExpr, ...], ...]:
        """What is affine in each subscript: all of it, unless data decide."""
        return tuple(
            tuple(self.leaf.affine[id(n)] for n in walk(e) if isinstance(n, Affine))
            for e in self.index
        )

    @cached_property
    def texts(self) -> tuple[tuple[str, ...], ...]:
        """The parts as isl writes them."""
        return tuple(tuple(part.to_C_str() for part in parts) for parts in self.parts)

    @cached_property
    def elements(self) -> Map:
        """``{ [v] -> [e] }``, ``v`` the values of the loops; any place where data decide."""
        assert self.leaf.to_copy is not None
        instances = self.leaf.to_copy.as_map().range()
        parts = [_values(e, instances) for e in self.index]
        whole = reduce(lambda one, other: one.flat_range_product(other), parts)
        copy = self.program.copies[tuple_name(instances)]
        return prefix_map(copy, self.path).reverse().apply_range(whole)

    @cached_property
    def stems(self) -> tuple[tuple[str, ...], ...]:
        """The texts but for the numbers that are added, and but for numbers that are all of one."""
        return tuple(
            () if isinstance(e, Affine) and _is_number(parts[0])
            else (*texts[:-1], *map(_stem, parts[-1:]))
            for e, parts, texts in zip(self.index, self.parts, self.texts, strict=True)
        )  # fmt: skip


def looks_apart(
    leaves: Iterable[Leaf], program: ScheduledProgram, path: tuple[PlanLoop, ...]
) -> bool:
    """Whether compilers would take an element of an iteration for two.

    The leaves are those in the vector loop, which is the last one of the path.
    """
    found = (p for leaf in leaves for p in _places(leaf, program, path))
    places = sorted(found, key=lambda p: p.array)
    for _, group in groupby(places, key=lambda p: p.array):
        distinct = {(p.texts, p.writes): p for p in group}.values()
        # compilers see that a number lies between those of one stem: what is left is few
        parts = [list(part) for _, part in groupby(sorted(distinct, key=_by_stems), key=_by_stems)]
        if any(_clash(one, other) for one, other in combinations(parts, 2)):
            return True
    return False


def _by_stems(place: _Place) -> tuple[tuple[str, ...], ...]:
    return place.stems


def _places(leaf: Leaf, program: ScheduledProgram, path: tuple[PlanLoop, ...]) -> Iterator[_Place]:
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


def _clash(one: Sequence[_Place], other: Sequence[_Place]) -> bool:
    """Whether a store of one part and an access of the other reach the same element."""
    return any(
        not _elements(p for p in stores if p.writes).is_disjoint(_elements(accesses))
        for stores, accesses in ((one, other), (other, one))
        if any(p.writes for p in stores)
    )


def _elements(places: Iterable[_Place]) -> Map:
    return reduce(lambda one, other: one.union(other), (p.elements for p in places))


def _stem(expr: AstExpr) -> str:
    """``c0 + 3`` as ``c0``."""
    is_sum = expr.get_type() == ast_expr_type.op and operation_name(expr) in {"add", "sub"}
    offset = is_sum and _is_number(expr.get_op_arg(1))
    return (expr.get_op_arg(0) if offset else expr).to_C_str()


def _is_number(expr: AstExpr) -> bool:
    return expr.get_type() == ast_expr_type.int
