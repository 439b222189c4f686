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
from polyopt.transform.find import path_to
from polyopt.transform.tree import loops_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from polyopt.codegen.ctext import CText
    from polyopt.ir.scop import Scop, Statement
    from polyopt.isl import PwAff
    from polyopt.transform.program import Program
    from polyopt.transform.tree import PlanLoop


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
    for loop in loops_of(program.tree):
        *around, _ = path_to(program, loop.name) or (loop,)
        if loop.mark != "parallel" or any(outer.mark == "parallel" for outer in around):
            continue
        extents = tuple(_trips(program, outer, loop.copies, sizes) for outer in around)
        if extents and all(extents):
            products[extents] += 1
    return products


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
    extent = _count(values.dim_min(0), values.dim_max(0), stride).gist(runs)
    return _plain(extent, runs.coalesce(), sizes)


def _count(low: PwAff, high: PwAff, stride: int = 1) -> PwAff:
    """How many values there are from one to another."""
    extent = high.sub(low)
    if stride > 1:
        extent = extent.div(affine_constant(extent.get_domain_space(), stride)).floor()
    return extent.add(affine_constant(extent.get_domain_space(), 1))


def _plain(extent: PwAff, context: Set, sizes: Mapping[str, CText]) -> str:
    """An extent as a factor in C, "" where it takes choices, remainders or functions."""
    found = c_extent(extent.coalesce(), context, sizes)
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
        extents.append(_plain(_count(low, high), scop.context, sizes))
        if not extents[-1]:
            return None
    return tuple(extents) if box.intersect_params(scop.context).is_equal(domain) else None
