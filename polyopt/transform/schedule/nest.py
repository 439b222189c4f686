"""The loops of a source program: who is in them, and new ones beside them."""

from __future__ import annotations

from polyopt.ir.scop import Loop, statements_in


def is_alone(node: Loop | str, name: str) -> bool:
    """Whether a nest is that of one statement, its loops all upwards one by one."""
    if isinstance(node, str):
        return node == name
    return node.step == 1 and [*statements_in(node)] == [name] and is_alone(node.body[0], name)


def renamed(node: Loop | str, new: str) -> Loop | str:
    """The nest of a statement alone, with another statement in it."""
    if isinstance(node, str):
        return new
    return Loop(node.iterator, tuple(renamed(child, new) for child in node.body), node.step)
