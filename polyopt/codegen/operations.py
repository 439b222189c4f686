"""How many operations a program does, as text over its sizes: for reports, not for decisions."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from polyopt.codegen.ctext import UNARY
from polyopt.codegen.program import c_extent
from polyopt.ir.expr import Binary, Call, Expr, Load, Unary
from polyopt.isl import Set, affine_constant, affine_var, dim_type

if TYPE_CHECKING:
    from collections.abc import Mapping

    from polyopt.codegen.ctext import CText
    from polyopt.ir.scop import Scop, Statement


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
