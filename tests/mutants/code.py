"""Wrong code: faults in the C tree of a proven plan, where it is about to be printed."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from polyopt.codegen.ast import expr as c
from polyopt.codegen.ast import visit
from polyopt.codegen.ast.nodes import (
    Assign,
    Block,
    Buffer,
    Do,
    For,
    Function,
    If,
    Local,
    Node,
    Parallel,
    Simd,
    as_block,
    assigns_in,
    rebuilt,
)

from .kinds import Kind

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    #: nodes that may stand where one stood; none leaves it out
    Change = Callable[[Node], Iterator[tuple[Node, ...]]]


def _variants(expr: c.Expr, change: Callable[[c.Expr], Iterator[c.Expr]]) -> Iterator[c.Expr]:
    """The expression with one part of it changed."""
    yield from change(expr)
    for number, child in enumerate(expr.children):
        for new in _variants(child, change):
            others = (*expr.children[:number], new, *expr.children[number + 1 :])
            yield expr.with_children(others)


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


def _each_kind(kind: type, **changes: Callable[[Any], Any]):
    """What is asked of a loop of some kind is another."""

    def at(loop: For) -> For | None:
        if not isinstance(loop.kind, kind):
            return None
        new = {name: change(getattr(loop.kind, name)) for name, change in changes.items()}
        return replace(loop, kind=replace(loop.kind, **new))

    return _each_for(at)


def each_assign(change: Callable[[Assign], Iterator[Assign]]):
    def at(node: Node) -> Iterator[tuple[Node, ...]]:
        if isinstance(node, Assign):
            for new in change(node):
                if new != node:
                    yield (new,)

    return _each(at)


def _bound_moved(by: int):
    """The end of a loop is another."""

    def at(loop: For) -> For:
        assert isinstance(loop.condition, c.Binary)
        condition = replace(loop.condition, right=c.plus(loop.condition.right, by))
        return replace(loop, condition=condition)

    return _each_for(at)


def _other_bound(loop: For) -> For | None:
    """The larger of two bounds for the smaller, or the other way round."""
    others = {"min_i64": "max_i64", "max_i64": "min_i64"}

    def swapped(node: c.Expr) -> Iterator[c.Expr]:
        if isinstance(node, c.Call) and node.function in others:
            yield replace(node, function=others[node.function])

    for where in ("condition", "start"):
        for new in _variants(getattr(loop, where), swapped):
            return replace(loop, **{where: new})
    return None


def _each_if(change: Callable[[If], tuple[Node, ...]]):
    def at(node: Node) -> Iterator[tuple[Node, ...]]:
        if isinstance(node, If):
            yield change(node)

    return _each(at)


def _otherwise(node: If) -> tuple[Node, ...]:
    if node.other is None:
        return (replace(node, condition=c.Unary("!", node.condition)),)
    return (replace(node, then=node.other, other=node.then),)


def _number_changed(by: int):
    """One number of a test is another: a border elsewhere."""

    def other(node: c.Expr) -> Iterator[c.Expr]:
        known = c.number_of(node)
        if known is not None:
            yield c.number(known + by)

    def at(node: Node) -> Iterator[tuple[Node, ...]]:
        if isinstance(node, If):
            for condition in _variants(node.condition, other):
                yield (replace(node, condition=condition),)

    return _each(at)


def _left_out(node: Node) -> Iterator[tuple[Node, ...]]:
    if isinstance(node, (Assign, Do)) and not (isinstance(node, Assign) and node.declares):
        yield ()


def _twice(node: Node) -> Iterator[tuple[Node, ...]]:
    if isinstance(node, (Assign, For, Do)) and not (isinstance(node, Assign) and node.declares):
        yield (node, node)


def _neighbours_exchanged(block: Block) -> Iterator[Block]:
    for k in range(len(block.body) - 1):
        one, other = block.body[k], block.body[k + 1]
        yield replace(block, body=(*block.body[:k], other, one, *block.body[k + 2 :]))


def _subscript(where: str, change: Callable[[c.Expr], c.Expr]):
    """One subscript of a target or of a value is another."""

    def other(node: c.Expr) -> Iterator[c.Expr]:
        if isinstance(node, c.Index):
            for number, one in enumerate(node.subscripts):
                rest = node.subscripts[number + 1 :]
                yield replace(node, subscripts=(*node.subscripts[:number], change(one), *rest))

    return _each_value(other, where)


def _each_value(change: Callable[[c.Expr], Iterator[c.Expr]], *where: str):
    """One part of a target or of a value is another."""

    def at(node: Assign) -> Iterator[Assign]:
        for name in where or ("value",):
            for new in _variants(getattr(node, name), change):
                yield replace(node, **{name: new})

    return each_assign(at)


def _larger_modulus(subscript: c.Expr) -> c.Expr:
    match subscript:
        case c.Binary(sign="%", left=left, right=c.Const() as right):
            return c.Binary("%", left, c.plus(right, 1))
    return subscript


def _operator(one: str, other: str):
    def changed(node: c.Expr) -> Iterator[c.Expr]:
        if isinstance(node, c.Binary) and node.sign == one:
            yield replace(node, sign=other)

    def at(node: Assign) -> Iterator[Assign]:
        for new in _outside_of_subscripts(node.value, changed):
            yield replace(node, value=new)

    return each_assign(at)


def _outside_of_subscripts(
    expr: c.Expr, change: Callable[[c.Expr], Iterator[c.Expr]]
) -> Iterator[c.Expr]:
    yield from change(expr)
    if isinstance(expr, c.Index):
        return
    for number, child in enumerate(expr.children):
        for new in _outside_of_subscripts(child, change):
            others = (*expr.children[:number], new, *expr.children[number + 1 :])
            yield expr.with_children(others)


def _constant(node: c.Expr) -> Iterator[c.Expr]:
    if isinstance(node, c.Const) and node.kind.is_float and float(node.value).is_integer():
        yield replace(node, value=node.value + 1)


def _branches(node: Assign) -> Iterator[Assign]:
    if isinstance(node.value, c.Select):
        yield replace(node, value=replace(node.value, yes=node.value.no, no=node.value.yes))


def _part_of_a_test(function: Function) -> Iterator[Function]:
    """The name of a test that was worked out before stands for a part of another one."""
    tests = {
        node.target: node.value
        for body in (function.body, *(task.body for task in function.tasks))
        for node in assigns_in(body)
        if node.constant
    }

    def at(node: Assign) -> Iterator[Assign]:
        for name, test in tests.items():

            def other(part: c.Expr, test: c.Expr = test, name: c.Expr = name) -> Iterator[c.Expr]:
                alike = isinstance(part, c.Binary) and isinstance(test, c.Binary)
                if alike and part.sign == test.sign and part.left == test.left and part != test:
                    yield name

            for new in _variants(node.value, other):
                yield replace(node, value=new)

    yield from each_assign(at)(function)


def each_local(change: Callable[[Local], Local | None]):
    def at(node: Assign) -> Iterator[Assign]:
        for number, local in enumerate(node.locals):
            new = change(local)
            if new is not None and new != local:
                kept = (*node.locals[:number], new, *node.locals[number + 1 :])
                yield replace(node, locals=kept)

    return each_assign(at)


def _old_local(function: Function) -> Iterator[Function]:
    """A declared value goes before the loop around: it is the first iteration's."""

    def at(node: Node) -> Iterator[tuple[Node, ...]]:
        if isinstance(node, For) and node.body.body:
            first, *rest = node.body.body
            if isinstance(first, Assign) and first.declares:
                value = visit.substitute(first.value, {c.Var(node.iterator): node.start})
                moved = replace(first, value=value)
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
    return replace(buffer, extents=(c.plus(first, -1), *rest))


def _narrower(buffer: Buffer) -> Buffer | None:
    if len(buffer.extents) < 2:
        return None
    *first, last = buffer.extents
    return replace(buffer, extents=(*first, c.plus(last, -1)))


def _arguments_exchanged(node: Node) -> Iterator[tuple[Node, ...]]:
    if isinstance(node, Do) and isinstance(node.call, c.Run):
        one, other, *rest = node.call.arguments
        yield (Do(replace(node.call, arguments=(other, one, *rest))),)


def _parameters_exchanged(function: Function) -> Iterator[Function]:
    for number, task in enumerate(function.tasks):
        one, other, *rest = task.parameters
        new = replace(task, parameters=(other, one, *rest))
        tasks = (*function.tasks[:number], new, *function.tasks[number + 1 :])
        yield replace(function, tasks=tasks)


def _moved_out(function: Function) -> Iterator[Function]:
    """What a test guards goes before it."""

    def at(node: Node) -> Iterator[tuple[Node, ...]]:
        if isinstance(node, If) and node.then.body:
            first, *rest = node.then.body
            yield (first, replace(node, then=replace(node.then, body=tuple(rest))))

    yield from _each(at)(function)


def _next_element(node: c.Expr) -> Iterator[c.Expr]:
    """A vector that starts one element on."""
    if isinstance(node, c.VectorAt) and isinstance(node.element, c.Index):
        *first, last = node.element.subscripts
        moved = replace(node.element, subscripts=(*first, c.plus(last, 1)))
        yield replace(node, element=moved)


def _accumulators(function: Function) -> Iterator[Function]:
    """An accumulator of a register tile takes another one's value."""
    bodies = (function.body, *(task.body for task in function.tasks))
    all_ = {
        node.target.symbol: None
        for body in bodies
        for node in assigns_in(body)
        if isinstance(node.target, c.Var) and "_block_" in node.target.symbol.hint
    }

    def other(node: c.Expr) -> Iterator[c.Expr]:
        if isinstance(node, c.Var) and node.symbol in all_:
            same = [s for s in all_ if s.origin == node.symbol.origin and s != node.symbol]
            yield from (c.Var(symbol) for symbol in same[:1])

    yield from _each_value(other)(function)


def _all_share(function: Function) -> Iterator[Function]:
    """One buffer for all threads in the place of one for each."""
    pools = {b.space.pool: b.symbol for b in function.private}

    def without(node: Node) -> Node:
        if isinstance(node, Do) and isinstance(node.call, c.Run):
            given = tuple(
                c.Var(pools[e.array]) if isinstance(e, c.Index) and e.array in pools else e
                for e in node.call.arguments
            )
            return Do(replace(node.call, arguments=given))
        if isinstance(node, For):
            node = replace(node, private=())
        if isinstance(node, Block):
            node = replace(node, buffers=tuple(b for b in node.buffers if not b.is_allocated))
        return rebuilt(node, without)

    if pools:
        body = as_block(without(function.body))
        shared = (*function.buffers, *function.private)
        yield replace(function, body=body, private=(), buffers=shared)


KINDS = (
    Kind("code", "a loop starts one later", _each_for(lambda n: replace(n, start=c.plus(n.start, 1)))),
    Kind("code", "a loop starts one earlier",
         _each_for(lambda n: replace(n, start=c.plus(n.start, -1)))),
    Kind("code", "a loop ends one earlier", _bound_moved(-1)),
    Kind("code", "a loop ends one later", _bound_moved(1)),
    Kind("code", "a step twice as long", _each_for(lambda n: replace(n, step=2 * n.step))),
    Kind("code", "the larger bound for the smaller", _each_for(_other_bound)),
    Kind("code", "a type's largest number for a loop's end",
         _each_for(
             lambda n: replace(n, condition=c.Binary("<=", c.Var(n.iterator), c.number(255))))),
    Kind("code", "a type's least number for a loop's start",
         _each_for(lambda n: replace(n, start=c.number(-128)))),
    Kind("code", "a loop as a single iteration",
         _each_for(
             lambda n: replace(n, condition=c.Binary("<=", c.Var(n.iterator), n.start)))),
    Kind("code", "threads where there are none", _each_for(
        lambda n: replace(n, kind=Parallel(c.number(1))) if n.is_sequential else None)),
    Kind("code", "lanes where there are none", _each_for(
        lambda n: replace(n, kind=Simd()) if n.is_sequential else None)),
    Kind("code", "threads in no order", _each_block(
        lambda b: (replace(b, body=new) for new in _out_of_turn(b.body)))),
    Kind("code", "no order asked of threads", _each_kind(Parallel, ordered=lambda _: False)),
    Kind("code", "more lanes than may run together", _each_kind(Simd, width=lambda w: 4 * w)),
    Kind("code", "as many lanes as there are iterations", _each_kind(Simd, width=lambda _: 0)),
    Kind("code", "lanes that do not join their sums", _each_kind(Simd, sums=lambda _: ())),
    Kind("code", "a test left out", _each_if(lambda n: n.then.body)),
    Kind("code", "a test turned round", _each_if(_otherwise)),
    Kind("code", "no other branch", _each_if(lambda n: (replace(n, other=None),))),
    Kind("code", "a number of a test one more", _number_changed(1)),
    Kind("code", "a number of a test one less", _number_changed(-1)),
    Kind("code", "a statement before its test", _moved_out),
    Kind("code", "a statement left out", _each(_left_out)),
    Kind("code", "a statement twice", _each(_twice)),
    Kind("code", "neighbours exchanged", _each_block(_neighbours_exchanged)),
    Kind("code", "another element written", _subscript("target", lambda e: c.plus(e, 1))),
    Kind("code", "always the first element written", _subscript("target", lambda _: c.number(0))),
    Kind("code", "another element read", _subscript("value", lambda e: c.plus(e, 1))),
    Kind("code", "always the first element read", _subscript("value", lambda _: c.number(0))),
    Kind("code", "a modulus one more",
         _subscript("value", _larger_modulus)),
    Kind("code", "minus for plus", _operator("+", "-")),
    Kind("code", "plus for minus", _operator("-", "+")),
    Kind("code", "plus for times", _operator("*", "+")),
    Kind("code", "another constant", _each_value(_constant)),
    Kind("code", "branches exchanged", each_assign(_branches)),
    Kind("code", "a value worked out too early", _old_local),
    Kind("code", "a test for part of another", _part_of_a_test),
    Kind("code", "another value of a local",
         each_local(lambda v: replace(v, value=c.Binary("+", v.value, c.number(1))))),
    Kind("code", "a buffer with a row less", _buffers(_shorter)),
    Kind("code", "a buffer with a column less", _buffers(_narrower)),
    Kind("code", "a buffer that all iterations share", _all_share),
    Kind("code", "arguments of a task exchanged", _each(_arguments_exchanged)),
    Kind("code", "parameters of a task exchanged", _parameters_exchanged),
    Kind("code", "a vector one element on", _each_value(_next_element, "target", "value")),
    Kind("code", "an accumulator for another", _accumulators),
)  # fmt: skip
