"""Wrong code: faults in the LoopAST of a proven plan, where C is about to be printed."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from polyopt.codegen.loops import (
    Assign,
    Block,
    Buffer,
    Call,
    For,
    Function,
    If,
    Local,
    Node,
    Task,
    assigns_in,
)

from .kinds import Kind

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    #: nodes that may stand where one stood; none leaves it out
    Change = Callable[[Node], Iterator[tuple[Node, ...]]]

_NUMBER = re.compile(r"(?<![\w.])\d+(?![\w.])")


def _changed(node: Node, change: Callable[[Block], Iterator[Block]]) -> Iterator[Node]:
    """A node with one block in it changed."""
    match node:
        case Block():
            yield from change(node)
            for number, child in enumerate(node.body):
                for new in _changed(child, change):
                    yield _with_child(node, number, (new,))
        case For():
            yield from (replace(node, body=body) for body in _changed(node.body, change))
        case If():
            yield from (replace(node, then=then) for then in _changed(node.then, change))
            other = _changed(node.other, change) if node.other is not None else ()
            yield from (replace(node, other=part) for part in other)
        case _:
            pass


def _with_child(block: Block, number: int, new: tuple[Node, ...]) -> Block:
    return replace(block, body=(*block.body[:number], *new, *block.body[number + 1 :]))


def _each_block(
    change: Callable[[Block], Iterator[Block]],
) -> Callable[[Function], Iterator[Function]]:
    """The function with one block changed, its tasks' included."""

    def make(function: Function) -> Iterator[Function]:
        for body in _changed(function.body, change):
            yield replace(function, body=body)
        for number, task in enumerate(function.tasks):
            for body in _changed(task.body, change):
                tasks = (*function.tasks[:number], replace(task, body=body))
                yield replace(function, tasks=(*tasks, *function.tasks[number + 1 :]))

    return make


def _each(change: Change) -> Callable[[Function], Iterator[Function]]:
    """The function with one node changed."""

    def at(block: Block) -> Iterator[Block]:
        for number, child in enumerate(block.body):
            for new in change(child):
                yield _with_child(block, number, new)

    return _each_block(at)


def _each_for(change: Callable[[For], For | None]):
    def at(node: Node) -> Iterator[tuple[Node, ...]]:
        new = change(node) if isinstance(node, For) else None
        if new is not None and new != node:
            yield (new,)

    return _each(at)


def _each_assign(change: Callable[[Assign], Iterator[Assign]]):
    def at(node: Node) -> Iterator[tuple[Node, ...]]:
        if isinstance(node, Assign):
            for new in change(node):
                if new != node:
                    yield (new,)

    return _each(at)


def _tighter(loop: For) -> For:
    return replace(loop, condition=_swapped(loop.condition, " < ", " + 1 < "))


def _wider(loop: For) -> For:
    return replace(loop, condition=_swapped(loop.condition, " < ", " - 1 < "))


def _swapped(condition: str, one: str, other: str) -> str:
    if one in condition:
        return condition.replace(one, other, 1)
    return condition.replace(one.replace("<", "<="), other.replace("<", "<="), 1)


def _other_bound(loop: For) -> For | None:
    for one, other in (("min_i64(", "max_i64("), ("max_i64(", "min_i64(")):
        if one in loop.condition:
            return replace(loop, condition=loop.condition.replace(one, other, 1))
        if one in loop.start:
            return replace(loop, start=loop.start.replace(one, other, 1))
    return None


def _each_if(change: Callable[[If], tuple[Node, ...]]):
    def at(node: Node) -> Iterator[tuple[Node, ...]]:
        if isinstance(node, If):
            yield change(node)

    return _each(at)


def _otherwise(node: If) -> tuple[Node, ...]:
    if node.other is None:
        return (replace(node, condition=f"!({node.condition})"),)
    return (replace(node, then=node.other, other=node.then),)


def _number_changed(by: int):
    """One number of a test is another: a border elsewhere."""

    def at(node: Node) -> Iterator[tuple[Node, ...]]:
        if isinstance(node, If):
            for found in _NUMBER.finditer(node.condition):
                text = _with_number(node.condition, found, by)
                yield (replace(node, condition=text),)

    return _each(at)


def _with_number(text: str, found: re.Match[str], by: int) -> str:
    return f"{text[: found.start()]}{int(found[0]) + by}{text[found.end() :]}"


def _left_out(node: Node) -> Iterator[tuple[Node, ...]]:
    if isinstance(node, (Assign, Call)) and not (isinstance(node, Assign) and node.declares):
        yield ()


def _twice(node: Node) -> Iterator[tuple[Node, ...]]:
    if isinstance(node, (Assign, For, Call)) and not (isinstance(node, Assign) and node.declares):
        yield (node, node)


def _neighbours_exchanged(block: Block) -> Iterator[Block]:
    for k in range(len(block.body) - 1):
        one, other = block.body[k], block.body[k + 1]
        yield replace(block, body=(*block.body[:k], other, one, *block.body[k + 2 :]))


def _subscript(where: str, change: Callable[[str], str]):
    """One subscript of a target or of a value is another."""

    def at(node: Assign) -> Iterator[Assign]:
        text = getattr(node, where)
        for found in re.finditer(r"\[([^\[\]]+)\]", text):
            new = f"{text[: found.start()]}[{change(found[1])}]{text[found.end() :]}"
            yield replace(node, **{where: new})

    return _each_assign(at)


def _operator(one: str, other: str):
    def at(node: Assign) -> Iterator[Assign]:
        outside = re.sub(r"\[[^\]]*\]", lambda m: "\0" * len(m[0]), node.value)
        for found in re.finditer(re.escape(one), outside):
            yield replace(
                node, value=node.value[: found.start()] + other + node.value[found.end() :]
            )

    return _each_assign(at)


def _constant(node: Assign) -> Iterator[Assign]:
    for found in re.finditer(r"\b(\d+)\.0f\b", node.value):
        new = f"{int(found[1]) + 1}.0f"
        yield replace(node, value=node.value[: found.start()] + new + node.value[found.end() :])


def _branches(node: Assign) -> Iterator[Assign]:
    found = re.fullmatch(r"([^?]*) \? ([^:?]*) : ([^:?]*)", node.value)
    if found:
        yield replace(node, value=f"{found[1]} ? {found[3]} : {found[2]}")


def _part_of_a_test(function: Function) -> Iterator[Function]:
    """The name of a test that was worked out before stands for the part of another that reads like
    it, and what the part began goes on behind the name."""
    tests = {
        node.target: node.value
        for body in (function.body, *(task.body for task in function.tasks))
        for node in assigns_in(body)
        if node.constant
    }

    def at(node: Assign) -> Iterator[Assign]:
        for name, text in tests.items():
            yield replace(node, value=node.value.replace(text, name))

    yield from _each_assign(at)(function)


def _locals(change: Callable[[Local], Local | None]):
    def at(node: Assign) -> Iterator[Assign]:
        for number, local in enumerate(node.locals):
            new = change(local)
            if new is not None and new != local:
                kept = (*node.locals[:number], new, *node.locals[number + 1 :])
                yield replace(node, locals=kept)

    return _each_assign(at)


def _old_local(function: Function) -> Iterator[Function]:
    """A declared value goes before the loop around: it is the first iteration's."""

    def at(node: Node) -> Iterator[tuple[Node, ...]]:
        if isinstance(node, For) and node.body.body:
            first, *rest = node.body.body
            if isinstance(first, Assign) and first.declares:
                moved = replace(
                    first,
                    value=re.sub(rf"\b{node.iterator}\b", f"({node.start})", first.value),
                )
                yield (
                    Block(
                        (moved, replace(node, body=replace(node.body, body=tuple(rest)))),
                        scoped=True,
                    ),
                )

    yield from _each(at)(function)


def _out_of_turn(body: tuple[Node, ...]) -> Iterator[tuple[Node, ...]]:
    """What threads do one after the other, they do at once."""
    for number, node in enumerate(body):
        if isinstance(node, Block) and node.ordered:
            loose = replace(node, ordered=False, scoped=True)
            yield (*body[:number], loose, *body[number + 1 :])


def _some(
    buffers: tuple[Buffer, ...], change: Callable[[Buffer], Buffer | None]
) -> Iterator[tuple[Buffer, ...]]:
    for number, buffer in enumerate(buffers):
        new = change(buffer)
        if new is not None and new != buffer:
            yield (*buffers[:number], new, *buffers[number + 1 :])


def _buffers(change: Callable[[Buffer], Buffer | None]):
    """One buffer of a function, or of a block in it, is another."""

    def make(function: Function) -> Iterator[Function]:
        for buffers in _some(function.buffers, change):
            yield replace(function, buffers=buffers)
        for buffers in _some(function.private, change):
            yield replace(function, private=buffers)
        blocks = _each_block(
            lambda b: (replace(b, buffers=found) for found in _some(b.buffers, change))
        )
        yield from blocks(function)

    return make


def _shorter(buffer: Buffer) -> Buffer | None:
    if not buffer.extents:
        return None
    first, *rest = buffer.extents
    return replace(buffer, extents=(f"{first} - 1", *rest))


def _narrower(buffer: Buffer) -> Buffer | None:
    if len(buffer.extents) < 2:
        return None
    *first, last = buffer.extents
    return replace(buffer, extents=(*first, f"{last} - 1"))


def _arguments(change: Callable[[tuple[str, ...]], tuple[str, ...]]):
    def at(node: Node) -> Iterator[tuple[Node, ...]]:
        if isinstance(node, Call):
            new = change(node.arguments)
            if new != node.arguments:
                yield (replace(node, arguments=new),)

    return _each(at)


def _two_exchanged(arguments: tuple[str, ...]) -> tuple[str, ...]:
    return (*arguments[1::-1], *arguments[2:])


def _parameters_exchanged(function: Function) -> Iterator[Function]:
    for number, task in enumerate(function.tasks):
        one, other, *rest = task.parameters
        new: Task = replace(task, parameters=(other, one, *rest))
        tasks = (*function.tasks[:number], new, *function.tasks[number + 1 :])
        yield replace(function, tasks=tasks)


def _moved_out(function: Function) -> Iterator[Function]:
    """What a test guards goes before it."""

    def at(node: Node) -> Iterator[tuple[Node, ...]]:
        if isinstance(node, If) and node.then.body:
            first, *rest = node.then.body
            yield (first, replace(node, then=replace(node.then, body=tuple(rest))))

    yield from _each(at)(function)


def _vector_text(pattern: str, new: str):
    def at(node: Assign) -> Iterator[Assign]:
        for where in ("target", "value"):
            text = getattr(node, where)
            if "_at *)" in text and re.search(pattern, text):
                yield replace(node, **{where: re.sub(pattern, new, text, count=1)})

    return _each_assign(at)


def _accumulators(node: Assign) -> Iterator[Assign]:
    """An accumulator of a register block takes another one's value."""
    found = re.search(r"_block_(\d+)_(\d+)", node.value)
    if found:
        other = f"_block_{1 - min(int(found[1]), 1)}_{found[2]}"
        yield replace(node, value=node.value.replace(found[0], other, 1))


KINDS = (
    Kind("code", "a loop starts one later", _each_for(lambda n: replace(n, start=f"{n.start} + 1"))),
    Kind("code", "a loop starts one earlier",
         _each_for(lambda n: replace(n, start=f"{n.start} - 1"))),
    Kind("code", "a loop ends one earlier", _each_for(_tighter)),
    Kind("code", "a loop ends one later", _each_for(_wider)),
    Kind("code", "a step twice as long", _each_for(lambda n: replace(n, step=2 * n.step))),
    Kind("code", "the larger bound for the smaller", _each_for(_other_bound)),
    Kind("code", "a loop as a single iteration",
         _each_for(lambda n: replace(n, condition=f"{n.iterator} <= {n.start}"))),
    Kind("code", "threads where there are none", _each_for(
        lambda n: replace(n, mark="parallel", trips="1") if not n.mark else None)),
    Kind("code", "lanes where there are none", _each_for(
        lambda n: replace(n, mark="vector") if not n.mark else None)),
    Kind("code", "threads in no order", _each_block(
        lambda b: (replace(b, body=new) for new in _out_of_turn(b.body)))),
    Kind("code", "no order asked of threads", _each_for(lambda n: replace(n, ordered=False))),
    Kind("code", "more lanes than may run together", _each_for(
        lambda n: replace(n, width=4 * n.width) if n.width else None)),
    Kind("code", "as many lanes as there are iterations", _each_for(
        lambda n: replace(n, width=0) if n.width else None)),
    Kind("code", "lanes that do not join their sums", _each_for(lambda n: replace(n, sums=()))),
    Kind("code", "a test left out", _each_if(lambda n: n.then.body)),
    Kind("code", "a test turned round", _each_if(_otherwise)),
    Kind("code", "no other branch", _each_if(lambda n: (replace(n, other=None),))),
    Kind("code", "a number of a test one more", _number_changed(1)),
    Kind("code", "a number of a test one less", _number_changed(-1)),
    Kind("code", "a statement before its test", _moved_out),
    Kind("code", "a statement left out", _each(_left_out)),
    Kind("code", "a statement twice", _each(_twice)),
    Kind("code", "neighbours exchanged", _each_block(_neighbours_exchanged)),
    Kind("code", "another element written", _subscript("target", lambda t: f"{t} + 1")),
    Kind("code", "always the first element written", _subscript("target", lambda _: "0")),
    Kind("code", "another element read", _subscript("value", lambda t: f"{t} + 1")),
    Kind("code", "always the first element read", _subscript("value", lambda _: "0")),
    Kind("code", "a modulus one more",
         _subscript("value", lambda t: re.sub(r"% (\d+)$", lambda m: f"% {int(m[1]) + 1}", t))),
    Kind("code", "minus for plus", _operator(" + ", " - ")),
    Kind("code", "plus for minus", _operator(" - ", " + ")),
    Kind("code", "plus for times", _operator(" * ", " + ")),
    Kind("code", "another constant", _each_assign(_constant)),
    Kind("code", "branches exchanged", _each_assign(_branches)),
    Kind("code", "a value worked out too early", _old_local),
    Kind("code", "a test for part of another", _part_of_a_test),
    Kind("code", "another value of a local",
         _locals(lambda v: replace(v, value=f"{v.value} + 1"))),
    Kind("code", "a buffer with a row less", _buffers(_shorter)),
    Kind("code", "a buffer with a column less", _buffers(_narrower)),
    Kind("code", "a buffer that all iterations share",
         lambda f: iter([replace(f, private=(), buffers=(*f.buffers, *f.private))]
                        if f.private else [])),
    Kind("code", "arguments of a task exchanged", _arguments(_two_exchanged)),
    Kind("code", "parameters of a task exchanged", _parameters_exchanged),
    Kind("code", "a vector one element on", _vector_text(r"\[(\d+)\]$", r"[\1 + 1]")),
    Kind("code", "an accumulator for another", _each_assign(_accumulators)),
)  # fmt: skip
