"""Wrong programs: what moves that change the program might leave of it."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from polyopt.ir.scop import Loop

from .kinds import Kind

if TYPE_CHECKING:
    from collections.abc import Iterator

    from polyopt.ir.scop import Scop


def _without(nest: tuple[Loop | str, ...], name: str) -> tuple[Loop | str, ...]:
    result: list[Loop | str] = []
    for node in nest:
        if isinstance(node, str):
            result += [node] * (node != name)
        elif inside := _without(node.body, name):
            result.append(replace(node, body=inside))
    return tuple(result)


def _statement_left_out(scop: Scop) -> Iterator[Scop]:
    for statement in scop.statements if len(scop.statements) > 1 else ():
        rest = tuple(s for s in scop.statements if s is not statement)
        yield replace(scop, statements=rest, nest=_without(scop.nest, statement.name))


def _end_left_out(scop: Scop) -> Iterator[Scop]:
    for statement in scop.statements:
        for end in (statement.domain.lexmin(), statement.domain.lexmax()):
            rest = statement.domain.subtract(end)
            yield scop.with_statements(replace(statement, domain=rest))


def _nests_backwards(scop: Scop) -> Iterator[Scop]:
    if len(scop.nest) > 1:
        yield replace(scop, nest=tuple(reversed(scop.nest)))


KINDS = (
    Kind("source", "a store left out", _statement_left_out),
    Kind("source", "a statement's first or last instance left out", _end_left_out),
    Kind("source", "nests in another order", _nests_backwards),
)
