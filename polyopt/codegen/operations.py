"""Work to share: how many operations a program does and how often its threads start, as text over
its sizes."""

from __future__ import annotations

import re
from collections import Counter
from functools import reduce
from typing import TYPE_CHECKING

from polyopt.codegen.ctext import UNARY
from polyopt.codegen.program import c_extent
from polyopt.ir.expr import Binary, Call, Expr, Load, Unary
from polyopt.isl import Set, affine_constant, affine_var, dim_type

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from polyopt.codegen.ctext import CText
    from polyopt.ir.scop import Scop, Statement
    from polyopt.transform.program import Program
    from polyopt.transform.tree import PlanLoop, Tree


#: operations that take about as long as waking a team of threads
LEAST_WORK = 100_000


def little_work(program: Program, work: str, sizes: Mapping[str, CText] | None = None) -> str:
    """The condition, in C, that starting threads costs more than they save; "" without ``work``,
    the text of ``flops_text``.

    Threads start at each entry of a parallel loop: one inside of others needs as much work each
    time.
    """
    if not work:
        return ""
    terms = [
        " * ".join([*([str(count)] if count > 1 else []), *extents])
        for extents, count in _starts(program, sizes or {}).items()
    ]
    starts = f"({' + '.join(terms)})" if len(terms) > 1 else "".join(terms)
    real = "" if sizes is None else ".0"
    return f"{work} < {LEAST_WORK}{real} * {starts}" if starts else f"{work} < {LEAST_WORK}"


def _starts(program: Program, sizes: Mapping[str, CText]) -> Counter[tuple[str, ...]]:
    """How often parallel loops inside of others are entered, at most: extents to be multiplied,
    and how many loops have them. Those that are not so simple are left out."""
    products: Counter[tuple[str, ...]] = Counter()
    for loop, around in _parallel_loops(program.tree, ()):
        extents = tuple(_trips(program, outer, loop.copies, sizes) for outer in around)
        if extents and all(extents):
            products[extents] += 1
    return products


def _parallel_loops(
    tree: Tree, around: tuple[PlanLoop, ...]
) -> Iterator[tuple[PlanLoop, tuple[PlanLoop, ...]]]:
    for node in tree:
        if isinstance(node, str):
            continue
        if node.mark == "parallel":
            yield node, around
        else:
            yield from _parallel_loops(node.body, (*around, node))


def _trips(
    program: Program, loop: PlanLoop, copies: tuple[str, ...], sizes: Mapping[str, CText]
) -> str:
    """The values of a loop around some copies, from the first to the last one, where they run."""
    context = program.scop.context
    domains = {name: program.copies[name].domain.intersect_params(context) for name in copies}
    parts = [loop.values[n].as_map().intersect_domain(d).range() for n, d in domains.items()]
    values = reduce(Set.union, parts).coalesce()
    stride = values.get_stride(0).to_python()
    values = Set.from_basic_set(values.remove_divs().simple_hull())
    runs = values.params()
    if runs.is_empty():
        return ""
    extent = values.dim_max(0).sub(values.dim_min(0))
    space = extent.get_domain_space()
    steps = extent.div(affine_constant(space, stride)).floor()
    extent = steps.add(affine_constant(space, 1)).gist(runs)
    found = c_extent(extent.coalesce(), runs.coalesce(), sizes)
    return "" if re.search(r"[?%]|\w\(", found.text) else found.at(UNARY)


def flops_text(scop: Scop, sizes: Mapping[str, CText] | None = None) -> str:
    """The source's arithmetic operations, such as ``"2 * N * N * N"``; empty if not so simple.
    Among other code ``sizes`` say what they are in C, whatever their values; then it is computed in
    ``double``, as they may be ``int``.

    Subscripts, comparisons and casts are not counted. The text is C and Python alike; a domain
    that is no box over the sizes (triangular, strided) has no such text.
    """
    terms: dict[tuple[str, ...], int] = {}
    for statement in scop.statements:
        operations = _operations(statement.value)
        if operations == 0 or statement.domain.intersect_params(scop.context).is_empty():
            continue
        size = _size(scop, statement, sizes or {})
        if size is None:
            return ""
        terms[size] = terms.get(size, 0) + operations
    real = "" if sizes is None else ".0"
    return " + ".join(" * ".join([f"{count}{real}", *size]) for size, count in terms.items())


def _operations(expr: Expr) -> int:
    if isinstance(expr, Load):
        return 0
    here = isinstance(expr, (Binary, Unary, Call))
    return here + sum(_operations(child) for child in expr.children)


def _size(scop: Scop, statement: Statement, sizes: Mapping[str, CText]) -> tuple[str, ...] | None:
    """The extents of the domain where it is a box, else ``None``."""
    domain = statement.domain.intersect_params(scop.context).coalesce()
    space = domain.get_space()
    box = Set.universe(space)
    extents: list[str] = []
    for position in range(domain.dim(dim_type.set)):
        low, high = domain.dim_min(position), domain.dim_max(position)
        index = affine_var(space, position)
        box = box.intersect(index.ge_set(low.insert_domain(space)))
        box = box.intersect(index.le_set(high.insert_domain(space)))
        extent = high.sub(low)
        extent = extent.add(affine_constant(extent.get_domain_space(), 1))
        found = c_extent(extent.coalesce(), scop.context, sizes)
        if re.search(r"[?%]|\w\(", found.text):
            return None
        extents.append(found.at(UNARY))
    return tuple(extents) if box.intersect_params(scop.context).is_equal(domain) else None
