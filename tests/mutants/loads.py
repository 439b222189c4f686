"""Wrong code: faults in what is loaded before it is used, and where tests say whether it is."""

from __future__ import annotations

from dataclasses import replace
from itertools import permutations
from typing import TYPE_CHECKING

from polyopt.codegen.ast import expr as c
from polyopt.codegen.ast import visit
from polyopt.codegen.ast.nodes import Assign, Local

from .code import each_assign, each_local
from .kinds import Kind

if TYPE_CHECKING:
    from collections.abc import Iterator


def _loaded_before(node: Assign) -> Iterator[Assign]:
    """What a test of iterators and sizes keeps inside an array is loaded before the test."""
    for choice in visit.walk(node.value):
        if not isinstance(choice, c.Select) or any(map(visit.is_element, visit.walk(choice.test))):
            continue
        for load in (e for e in visit.walk(choice) if visit.is_element(e)):
            made = c.Symbol("", load.type)
            value = visit.substitute(node.value, {load: c.Var(made)})
            yield replace(node, value=value, locals=(*node.locals, Local(made, load)))


def _next_loaded(local: Local) -> Local | None:
    if not isinstance(local.value, c.Index):
        return None
    *first, last = local.value.subscripts
    return replace(local, value=replace(local.value, subscripts=(*first, c.plus(last, 1))))


def _another_local(node: Assign) -> Iterator[Assign]:
    for one, other in permutations(node.locals, 2):
        if one.symbol.type == other.symbol.type:
            value = visit.substitute(node.value, {c.Var(one.symbol): c.Var(other.symbol)})
            yield replace(node, value=value)


KINDS = (
    Kind("code", "a load before its test", each_assign(_loaded_before)),
    Kind("code", "the next element loaded before", each_local(_next_loaded)),
    Kind("code", "a local for another", each_assign(_another_local)),
)
