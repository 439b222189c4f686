"""How many operations a program does, as text over its sizes: for reports, not for decisions."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from polyopt.codegen.program import c_extent
from polyopt.ir.expr import Binary, Call, Expr, Load, Unary
from polyopt.isl import Set, affine_constant, affine_var, dim_type

if TYPE_CHECKING:
    from polyopt.ir.scop import Scop, Statement


def flops_text(scop: Scop) -> str:
    """The source's arithmetic operations, such as ``"2 * N * N * N"``; empty if not so simple.

    Subscripts, comparisons and casts are not counted. The text is C and Python alike; a domain
    that is no box over the sizes (triangular, strided) has no such text.
    """
    terms: dict[tuple[str, ...], int] = {}
    for statement in scop.statements:
        operations = _operations(statement.value)
        if operations == 0 or statement.domain.intersect_params(scop.context).is_empty():
            continue
        size = _size(scop, statement)
        if size is None:
            return ""
        terms[size] = terms.get(size, 0) + operations
    return " + ".join(" * ".join([str(count), *size]) for size, count in terms.items())


def _operations(expr: Expr) -> int:
    if isinstance(expr, Load):
        return 0
    here = isinstance(expr, (Binary, Unary, Call))
    return here + sum(_operations(child) for child in expr.children)


def _size(scop: Scop, statement: Statement) -> tuple[str, ...] | None:
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
        text = c_extent(extent.coalesce(), scop.context, {})
        if re.search(r"[?%]|\w\(", text):
            return None
        extents.append(text if re.fullmatch(r"\w+", text) else f"({text})")
    return tuple(extents) if box.intersect_params(scop.context).is_equal(domain) else None
