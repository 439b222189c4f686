"""Work to share: how many operations a program does, and how often its threads start, as
expressions over its sizes."""

from __future__ import annotations

from collections import Counter
from functools import reduce
from operator import add, mul, sub
from typing import TYPE_CHECKING

from polyopt.codegen.ast.expr import Binary as CBinary
from polyopt.codegen.ast.expr import Call as CCall
from polyopt.codegen.ast.expr import Const, Select, number, number_of, product, total
from polyopt.codegen.ast.visit import walk
from polyopt.codegen.expressions.affine import c_extent
from polyopt.codegen.printers.c_expr import c_text, hints
from polyopt.codegen.signature import sizes_called
from polyopt.ir.expr import Binary, Call, Expr, Load, Unary
from polyopt.ir.types import F64
from polyopt.isl import Set, affine_constant, affine_var, dim_type
from polyopt.transform.schedule.query import path_to
from polyopt.transform.schedule.tree import loops_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from polyopt.codegen.ast import expr as c
    from polyopt.codegen.expressions.lowered import Lowered
    from polyopt.ir.scop import Scop, Statement
    from polyopt.isl import PwAff
    from polyopt.transform.schedule.program import ScheduledProgram
    from polyopt.transform.schedule.tree import PlanLoop

_MEANINGS: Mapping[str, Callable[[int, int], int]] = {"+": add, "-": sub, "*": mul}
#: operations that take about as long as waking a team of threads
LEAST_WORK = 100_000


def little_work(
    program: ScheduledProgram,
    work: c.Expr | None,
    sizes: Mapping[str, Lowered],
    *,
    real: bool = False,
) -> c.Expr | None:
    """The condition that starting threads costs more than they save; none without ``work``, what
    ``shared_work`` gives for the same ``sizes``.

    Threads start at each entry of a parallel loop: one inside of others needs as much work each
    time. With ``real`` it is computed in ``double``.
    """
    if work is None:
        return None
    least = _count_of(LEAST_WORK, real=real)
    terms = [
        (*([number(count)] if count > 1 else []), *extents)
        for extents, count in _starts(program, sizes).items()
    ]
    starts = terms[0] if len(terms) == 1 else (total(tuple(map(product, terms))),) if terms else ()
    test = CBinary("<", work, product((least, *starts)))
    # literals are of C's int: where their products are not, there is enough to do in any case
    return None if any(map(_is_beyond_int, walk(test))) and not real else test


def _is_beyond_int(node: c.Expr) -> bool:
    value = _value(node)
    return value is not None and value >= 1 << 31


def _value(node: c.Expr) -> int | None:
    """The number that an expression of literals is."""
    if not isinstance(node, CBinary):
        return number_of(node)
    left, right = _value(node.left), _value(node.right)
    if left is None or right is None or node.sign not in _MEANINGS:
        return None
    return _MEANINGS[node.sign](left, right)


def _count_of(value: int, *, real: bool) -> Const:
    return Const(float(value), F64) if real else number(value)


def _starts(program: ScheduledProgram, sizes: Mapping[str, Lowered]) -> Counter[tuple[c.Expr, ...]]:
    """How often parallel loops inside of others are entered, at most: extents to be multiplied,
    and how many loops have them. Those that are not so simple are left out."""
    products: Counter[tuple[c.Expr, ...]] = Counter()
    for loop in loops_of(program.tree):
        *around, _ = path_to(program, loop.name) or (loop,)
        if loop.mark != "parallel" or any(outer.mark == "parallel" for outer in around):
            continue
        found = [_trips(program, outer, loop.copies, sizes) for outer in around]
        extents = tuple(extent for extent in found if extent is not None)
        if extents and len(extents) == len(found):
            products[extents] += 1
    return products


def _trips(
    program: ScheduledProgram, loop: PlanLoop, copies: tuple[str, ...], sizes: Mapping[str, Lowered]
) -> c.Expr | None:
    """The values of a loop around some copies, from the first to the last one, where they run."""
    context = program.scop.context
    domains = {name: program.copies[name].domain.intersect_params(context) for name in copies}
    parts = [loop.values[n].as_map().intersect_domain(d).range() for n, d in domains.items()]
    values = reduce(Set.union, parts).coalesce()
    stride = values.get_stride(0).to_python()
    values = Set.from_basic_set(values.remove_divs().bounded_simple_hull())
    runs = values.params()
    if runs.is_empty():
        return None
    extent = _count(values.dim_min(0), values.dim_max(0), stride).gist(runs)
    return _plain(extent, runs.coalesce(), sizes)


def _count(low: PwAff, high: PwAff, stride: int = 1) -> PwAff:
    """How many values there are from one to another."""
    extent = high.sub(low)
    if stride > 1:
        extent = extent.div(affine_constant(extent.get_domain_space(), stride)).floor()
    return extent.add(affine_constant(extent.get_domain_space(), 1))


def _plain(extent: PwAff, context: Set, sizes: Mapping[str, Lowered]) -> c.Expr | None:
    """An extent as a factor, none where it takes choices, remainders or functions."""
    found = c_extent(extent.coalesce(), context, sizes).node
    return None if any(map(_is_involved, walk(found))) else found


def _is_involved(node: c.Expr) -> bool:
    return isinstance(node, (Select, CCall)) or (isinstance(node, CBinary) and node.sign == "%")


def has_little_work_test(scop: Scop) -> bool:
    """Whether each call of a program's C sees for itself if it has work for threads."""
    return shared_work(scop, sizes_called({name: name for name in scop.params})) is not None


def flops_text(scop: Scop) -> str:
    """The source's arithmetic operations over its sizes, such as ``"2 * N * N * N"``, as C and
    Python read alike; empty if not so simple."""
    found = flops(scop, sizes_called({name: name for name in scop.params}))
    return "" if found is None else c_text(found, hints)


def shared_work(scop: Scop, sizes: Mapping[str, Lowered], *, real: bool = False) -> c.Expr | None:
    """What threads share, over the sizes: the operations, or in a program that only moves data
    the elements that it writes; none if not so simple."""
    found = flops(scop, sizes, real=real)
    if found is not None or any(_operations(s.value) for s in scop.statements):
        return found
    return _counted(scop, sizes, lambda _: 1, real=real)


def flops(scop: Scop, sizes: Mapping[str, Lowered], *, real: bool = False) -> c.Expr | None:
    """The source's arithmetic operations over its sizes; none if not so simple.

    Among other code sizes may be ``int``: with ``real`` it is computed in ``double``. Subscripts,
    comparisons and casts are not counted. A domain that is no box over the sizes (triangular,
    strided) has no such expression.
    """
    return _counted(scop, sizes, _operations, real=real)


def _counted(
    scop: Scop, sizes: Mapping[str, Lowered], of: Callable[[Expr], int], *, real: bool
) -> c.Expr | None:
    terms: dict[tuple[c.Expr, ...], int] = {}
    for statement in scop.statements:
        operations = of(statement.value)
        if operations == 0 or statement.domain.intersect_params(scop.context).is_empty():
            continue
        size = _size(scop, statement, sizes)
        if size is None:
            return None
        terms[size] = terms.get(size, 0) + operations
    counted = [product((_count_of(count, real=real), *size)) for size, count in terms.items()]
    return total(tuple(counted)) if counted else None


def _operations(expr: Expr) -> int:
    if isinstance(expr, Load):
        return 0
    here = isinstance(expr, (Binary, Unary, Call))
    return here + sum(_operations(child) for child in expr.children)


def _size(
    scop: Scop, statement: Statement, sizes: Mapping[str, Lowered]
) -> tuple[c.Expr, ...] | None:
    """The extents of the domain where it is a box, else ``None``."""
    domain = statement.domain.intersect_params(scop.context).coalesce()
    space = domain.get_space()
    box = Set.universe(space)
    extents: list[c.Expr] = []
    for position in range(domain.dim(dim_type.set)):
        low, high = domain.dim_min(position), domain.dim_max(position)
        index = affine_var(space, position)
        box = box.intersect(index.ge_set(low.insert_domain(space)))
        box = box.intersect(index.le_set(high.insert_domain(space)))
        extent = _plain(_count(low, high), scop.context, sizes)
        if extent is None:
            return None
        extents.append(extent)
    return tuple(extents) if box.intersect_params(scop.context).is_equal(domain) else None
