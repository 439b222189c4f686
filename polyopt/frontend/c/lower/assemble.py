"""Records to named statements, variables to arrays with their roles: the finished Scop."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING

from polyopt.errors import UnsupportedError
from polyopt.frontend.c.lower.declarations import plain
from polyopt.frontend.c.lower.opaque import keeps_something
from polyopt.frontend.c.lower.statements import LoopRecord
from polyopt.frontend.find_last import with_find_last
from polyopt.frontend.if_conversion import if_converted
from polyopt.frontend.ranges import with_value_ranges
from polyopt.ir.block import Block, Store, actions_in
from polyopt.ir.expr import Affine, Expr, Inside, Load, RangeHint, index_of, loads, rewrite
from polyopt.ir.index_bounds import index_bounds
from polyopt.ir.scop import (
    Array,
    Loop,
    Scop,
    Statement,
    role_of,
    spread_over,
)
from polyopt.isl import (
    PwAff,
    Set,
    affine_constant,
    dim_type,
    params_space,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pycparser import c_ast

    from polyopt.frontend.c.lower.scope import Program, Record, Variable
    from polyopt.frontend.c.lower.statements import Item
    from polyopt.source import Span

_SPLIT = "split the function, or mark a part of it with #pragma scop and endscop"


#: what a pointer's extent is taken to be where data decide on its elements: accesses whose
#: subscripts are known have to be below it, and all others may be any of these elements
UNKNOWN_EXTENT = 1 << 24


def assemble(program: Program, name: str, signature: tuple[str, ...], nest: list[Item]) -> Scop:
    """The Scop of what lowering gathered. Raises ``UnsupportedError``."""
    records = [r for r in in_order(nest) if not program.known(r.place).is_empty()]
    if not records:
        msg = "the program has no statement that runs"
        raise program.locator.error(UnsupportedError, None, msg, hint="write into an array")
    names = _names(records)
    statements = {id(r): _statement(r, n) for r, n in zip(records, names, strict=True)}
    listed = tuple(statements.values())
    used = {s.array for s in listed} | {a.array for s in listed for a in s.reads}
    arrays = tuple(
        _array(program, variable, listed)
        for key, variable in program.variables.items()
        if variable.argument or key in used
    )
    by_name = {array.name: array for array in arrays}
    listed = tuple(
        _bounded(program, record, statement, by_name)
        for record, statement in zip(records, listed, strict=True)
    )
    scop = Scop(
        name,
        program.params,
        program.context.coalesce(),
        arrays,
        listed,
        _nest(nest, {key: s.name for key, s in statements.items()}),
        source=program.source,
        signature=signature,
    )
    scop = replace(scop, arrays=tuple(_with_role(scop, a) for a in arrays))
    ranged = with_value_ranges(scop, wraps=False)
    # emitted C that is read back is compared with its source as it is
    return ranged if program.closed else with_find_last(ranged, wraps=False)


def check_count(
    program: Program,
    nest: list[Item],
    name: str,
    node: c_ast.Node | Span,
    most: int,
) -> None:
    """Raise ``UnsupportedError`` for more statements than are taken (0: as many as there are)."""
    count = len(in_order(nest))
    if 0 < most < count:
        message = f"{name} has {count:,} statements, and {most:,} are taken"
        raise program.locator.error(UnsupportedError, node, message, hint=_SPLIT)


def in_order(nest: list[Item] | tuple[Item, ...]) -> list[Record]:
    """The statements below some items, in textual order."""
    result: list[Record] = []
    for item in nest:
        result += in_order(item.body) if isinstance(item, LoopRecord) else [item]
    return result


def _names(records: list[Record]) -> list[str]:
    """The written array's name, numbered where it has several writers; never the same twice.

    Nor is one called like another array that is written: loops are known by either name.
    """
    writers = Counter(record.array for record in records)
    taken = set(writers)
    numbers: Counter[str] = Counter()
    result: list[str] = []
    for record in records:
        if writers[record.array] == 1:
            result.append(record.array)
            continue
        name = f"{record.array}_{numbers[record.array]}"
        numbers[record.array] += 1
        while name in taken:
            name += "_"
        taken.add(name)
        result.append(name)
    return result


def _statement(record: Record, name: str) -> Statement:
    iterators = record.place.iterators
    domain = _named_set(record.place.domain.coalesce(), name, iterators)

    def change(node: Expr) -> Expr:
        match node:
            case Affine():
                return Affine(node.type, _named_form(node.form, name, iterators))
            case Inside():
                return Inside(node.type, _named_set(node.where, name, iterators))
            case _:
                return node

    zero = index_of(affine_constant(record.place.space, 0))
    index = tuple(
        Affine(i.type, _named_form(i.form, name, iterators))
        for i in (part or zero for part in record.index)
    )
    value = rewrite(record.value, change)
    return if_converted(Statement(name, iterators, domain, record.array, index, value, record.span))


def _bounded(
    program: Program, record: Record, statement: Statement, arrays: Mapping[str, Array]
) -> Statement:
    """The statement with subscripts that data decide on kept within their arrays, if they are."""
    value = (
        rewrite(statement.value, lambda node: _within(node, arrays))
        if program.inbounds
        else statement.value
    )
    if not isinstance(value, Block):
        return replace(statement, value=value)
    array = arrays[record.array]
    spread = {k: array.extents[k] for k, part in enumerate(record.index) if part is None}
    if keeps_something(value, record.array, record.index):
        index = tuple(
            spread_over(part, spread[k]) if k in spread else part
            for k, part in enumerate(statement.index)
        )
        value = replace(value, old=Load(array.type, array.name, index, record.span))
    return replace(statement, value=value, spread=spread)


def _within(node: Expr, arrays: Mapping[str, Array]) -> Expr:
    """A load with unknown subscripts bounded by the extents of its array."""
    if not isinstance(node, Load):
        return node
    array = arrays[node.array]
    index = list(node.index)
    for k, part in enumerate(index):
        low, high = index_bounds(part)
        if low is None or high is None:
            one = affine_constant(array.extents[k].get_domain_space(), 1)
            first = (
                array.lower[k]
                if array.lower
                else affine_constant(array.extents[k].get_domain_space(), 0)
            )
            index[k] = RangeHint(part.type, part, first, first.add(array.extents[k]).sub(one))
    return replace(node, index=tuple(index))


def _named_set(where: Set, name: str, iterators: tuple[str, ...]) -> Set:
    for position, iterator in enumerate(iterators):
        where = where.set_dim_name(dim_type.set, position, iterator)
    return where.set_tuple_name(name)


def _named_form(form: PwAff, name: str, iterators: tuple[str, ...]) -> PwAff:
    """The form over the named tuple, whose identifier has to be isl's own."""
    tuple_id = _named_set(Set.universe(form.get_domain_space()), name, iterators).get_tuple_id()
    return form.set_tuple_id(dim_type.in_, tuple_id)


def _nest(items: list[Item] | tuple[Item, ...], names: dict[int, str]) -> tuple[Loop | str, ...]:
    """The loops with the statements' names; loops without statements are gone."""
    result: list[Loop | str] = []
    for item in items:
        if not isinstance(item, LoopRecord):
            if id(item) in names:
                result.append(names[id(item)])
        elif body := _nest(item.body, names):
            result.append(Loop(item.iterator, body, item.step))
    return tuple(result)


def _array(program: Program, variable: Variable, statements: tuple[Statement, ...]) -> Array:
    """The array with all extents known, as if it were an argument that is read only."""
    zero = affine_constant(params_space(program.params), 0)
    own = [
        _derived(program, variable, position, statements) if extent is None else extent
        for position, extent in enumerate(variable.extents)
    ]
    lower = [*(low for low, _ in variable.private), *(zero for _ in own)]
    extents = (*(count for _, count in variable.private), *own)
    shifted = any(not low.is_equal(zero) for low in lower)
    return Array(
        variable.array,
        variable.type,
        extents,
        "in" if variable.argument else "temp",
        lower=tuple(lower) if shifted else (),
        private=len(variable.private),
        span=variable.span,
    )


def _derived(
    program: Program, variable: Variable, position: int, statements: tuple[Statement, ...]
) -> PwAff:
    """One more than the largest index used: the least extent that a pointer has to have."""
    accesses = [
        access.relation.range()
        for statement in statements
        for access in (statement.write, *statement.reads)
        if access.array == variable.array
    ]
    if program.inbounds and any(_is_unknown(s, variable.array, position) for s in statements):
        return affine_constant(params_space(program.params), UNKNOWN_EXTENT)
    rest = variable.span
    if accesses:
        touched = accesses[0]
        for more in accesses[1:]:
            touched = touched.union(more)
        touched = touched.intersect_params(program.context)
        if not touched.is_empty() and touched.dim_has_upper_bound(dim_type.set, position):
            most = plain(touched.coalesce().dim_max(position))
            if most.n_piece() == 1:
                extent = most.add(affine_constant(most.get_domain_space(), 1))
                program.assume_extent(extent)
                return extent
    msg = f"the outermost extent of {variable.array!r} is not declared and not plain from its uses"
    hint = f"declare it, such as {variable.type.c_name} {variable.array}[n]"
    raise program.locator.error(UnsupportedError, rest, msg, hint=hint)


def _is_unknown(statement: Statement, array: str, position: int) -> bool:
    """Whether data decide on a subscript of an array."""
    parts = [node.index[position] for node in loads(statement.value) if node.array == array]
    if isinstance(statement.value, Block) and statement.array == array:
        puts = (action for action in actions_in(statement.value.body) if isinstance(action, Store))
        parts += [put.index[position] for put in puts]
    bounds = (index_bounds(part, statement.space) for part in parts)
    return any(low is None or high is None for low, high in bounds)


def _with_role(scop: Scop, array: Array) -> Array:
    return array if array.role == "temp" else replace(array, role=role_of(scop, array.name))
