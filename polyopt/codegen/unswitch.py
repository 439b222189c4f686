"""A choice that a short loop does not change is made before it.

rewrite: ``for (x) out[x] = inside ? in[x] : 0;`` ->
``if (inside) { for (x) out[x] = in[x]; } else { for (x) out[x] = 0; }``

For loops of a few iterations that are no vector loops: gcc 12.2 makes vector code of these itself,
and wrong code where the choice stays inside (tests/unit/runtime/test_compilers.py).
"""

from __future__ import annotations

import re
from dataclasses import replace

from polyopt.codegen.loops import Assign, Block, For, If, Node, assigns_in, loops_in, walk
from polyopt.codegen.names import names_in
from polyopt.ir.types import BOOL

#: longer loops are not unrolled, and were never seen to go wrong
LONGEST = 64
_PLAIN = re.compile(r"[\w.]+(\[[^\[\]]*\])*")
#: tests that one loop is written out for: each doubles it
_MOST = 3


def unswitch(block: Block, known: frozenset[str] = frozenset()) -> Block:
    """The block with short loops on either side of what tests outside them decide.

    ``known`` are names of such tests; those declared in the block are added.
    """
    body: list[Node] = []
    for node in block.body:
        if isinstance(node, Assign) and node.declares and node.constant and node.type == BOOL:
            known |= {node.target}
        body.append(_node(node, known))
    return replace(block, body=tuple(body))


def _node(node: Node, known: frozenset[str]) -> Node:
    match node:
        case Block():
            return unswitch(node, known)
        case If():
            other = None if node.other is None else unswitch(node.other, known)
            return replace(node, then=unswitch(node.then, known), other=other)
        case For():
            inside = replace(node, body=unswitch(node.body, known))
            return _decided(inside, known, _MOST) if _is_short(inside) else inside
        case _:
            return node


def _is_short(loop: For) -> bool:
    """Whether a plain innermost loop has constant bounds, not far apart."""
    first = re.fullmatch(r"-?\d+", loop.start)
    bound = re.fullmatch(rf"{loop.iterator} <=? (-?\d+)", loop.condition)
    if loop.mark or loops_in(loop.body) or first is None or bound is None:
        return False
    return int(bound[1]) - int(first[0]) < LONGEST


def _decided(loop: For, known: frozenset[str], most: int) -> For | If:
    test = _test(loop, known) if most else None
    if test is None:
        return loop
    then, other = (
        _decided(replace(loop, body=_with(loop.body, test, truth)), known, most - 1)
        for truth in (True, False)
    )
    rest = Block((other,)) if isinstance(other, If) or other.body.body else None
    return If(test, Block((then,)), rest)


def _test(loop: For, known: frozenset[str]) -> str | None:
    """A test in the loop that is the same in all iterations."""
    changed = {loop.iterator, *(a.target.partition("[")[0] for a in assigns_in(loop.body))}
    for node in walk(loop.body):
        if isinstance(node, If) and not changed & {*names_in(node.condition)}:
            return node.condition
        if isinstance(node, Assign):
            found = known.intersection(*[names_in(" ".join(node.values))])
            if found:
                return min(found)
    return None


def _with(block: Block, test: str, truth: bool) -> Block:  # noqa: FBT001
    """The block where the test is known to hold, or not to."""
    body: list[Node] = []
    for node in block.body:
        match node:
            case Block():
                body.append(_with(node, test, truth))
            case If() if node.condition == test:
                side = node.then if truth else node.other
                body += [] if side is None else _with(side, test, truth).body
            case If():
                other = None if node.other is None else _with(node.other, test, truth)
                body.append(replace(node, then=_with(node.then, test, truth), other=other))
            case Assign():
                body.append(_assigned(node, test, truth))
            case _:
                body.append(node)
    return replace(block, body=tuple(body))


def _assigned(assign: Assign, test: str, truth: bool) -> Assign:  # noqa: FBT001
    value = _chosen(assign.value, test, truth)
    texts = [_chosen(local.value, test, truth) for local in assign.locals]
    pairs = zip(assign.locals, texts, strict=True)
    whole = " ".join([value, *texts])
    return replace(
        assign,
        value=value,
        locals=tuple(replace(local, value=text) for local, text in pairs),
        loads=tuple((buffer, text) for buffer, text in assign.loads if text in whole),
    )


def _chosen(text: str, test: str, truth: bool) -> str:  # noqa: FBT001
    """The text with one side of each choice by the test."""
    if not test.isidentifier():
        return text
    while found := re.search(rf"\b{test} \? ", text):
        start, colon, end = found.start(), *_sides(text, found.end())
        side = (text[found.end() : colon] if truth else text[colon + 1 : end]).strip()
        in_parentheses = text[start - 1 : start] == "(" and text[end : end + 1] == ")"
        if in_parentheses and not re.match(r"\w", text[max(0, start - 2) : start - 1]):
            plain = _PLAIN.fullmatch(side.strip())
            text = (
                text[: start - 1] + (plain[0] if plain else f"({side.strip()})") + text[end + 1 :]
            )
        else:
            text = text[:start] + side.strip() + text[end:]
    return re.sub(rf"\b{test}\b", str(int(truth)), text)


def _sides(text: str, start: int) -> tuple[int, int]:
    """Where the ``:`` of a ``?`` right before ``start`` stands, and where its other side ends."""
    depth = choices = 0
    colon = -1
    for position in range(start, len(text)):
        character = text[position]
        if depth == 0 and (character in ")]," or (character == ":" and colon >= 0 and not choices)):
            return colon, position
        depth += (character in "([") - (character in ")]")
        if depth > 0:
            continue
        if character == ":" and choices == 0:
            colon = position
        choices += (character == "?") - (character == ":" and choices > 0)
    return colon, len(text)
