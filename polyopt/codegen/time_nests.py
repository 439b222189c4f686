"""Instrumentation: a clock is read between the nests of a call.

rewrite: ``for (i) { a } for (j) { b }`` ->
``polyopt_lap(0); for (i) { a } polyopt_lap(1); for (j) { b } polyopt_lap(2);``

``polyopt_lap(k)`` adds the seconds since the lap before to ``polyopt_laps[k - 1]``, where the
caller has set that pointer. All loops that come of one nest of the plan, such as those over full
tiles and those over partial ones, have one number. What is outside of loops counts for the next
nest.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from polyopt.codegen.ast.expr import Call, number
from polyopt.codegen.ast.nodes import Block, Do, For, If, rebuilt
from polyopt.ir.types import F64

if TYPE_CHECKING:
    from polyopt.codegen.ast.nodes import Function, Node

LAP = "polyopt_lap"


def time_nests(function: Function) -> tuple[Function, tuple[str, ...]]:
    """The function with laps, and the outermost loops of the plan that laps 1, 2, ... end."""
    laps: dict[str, int] = {}

    def timed(node: Node) -> Node:
        match node:
            case For():
                lap = laps.setdefault(node.iterator.origin, len(laps) + 1)
                return Block((node, _lap(lap)))
            case Block() | If():
                return rebuilt(node, timed)
            case _:
                return node

    body = function.body
    nodes = tuple(map(timed, body.body))
    return replace(function, body=replace(body, body=(_lap(0), *nodes))), tuple(laps)


def _lap(count: int) -> Do:
    return Do(Call(LAP, (number(count),), F64))
