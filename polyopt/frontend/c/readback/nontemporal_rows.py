"""Non-temporal stores of rows in generated C: whether each piece follows the last.

A line that a piece ends in is stored with the next piece, from what the strip keeps of it. So

    for (x = start; x < past; x += n) {
        const end = min(x + n, past);
        ... strip[i - x + 16] ...                 in loops from i = x
        streamed(&row[x], strip, end - x, x == start, end == past, ...); }

is the only form in which such a call is ``row[x + k] = strip[16 + k]`` for ``0 <= k < end - x``,
where a piece is a line or more, all go the same way, nothing else in the loop uses the row, nor
what the strip keeps, and no threads share it.
"""

# The parser's trees have no types.
# pyright: basic, reportAttributeAccessIssue=false, reportOptionalIterable=false
# pyright: reportOptionalMemberAccess=false, reportReturnType=false, reportArgumentType=false

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pycparser import c_ast

from polyopt.frontend.c.readback.nontemporal import first_of
from polyopt.frontend.c.syntax.nodes import base_of, called, text_of
from polyopt.frontend.c.syntax.usage import names_in, nodes

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping


def odd_pieces(body: c_ast.Node, helpers: Mapping[str, c_ast.FuncDef]) -> tuple[c_ast.Node, str]:
    """A call in a function's body that stores a piece out of turn, and what is odd about it; ""
    where there is none."""
    known: set[int] = set()
    for loop, pragma in _loops(body, ""):
        calls = [item for item in _items(loop.stmt) if _is_streamed(item)]
        for call in calls:
            odd = "pieces of a row in a loop that is shared" if pragma else ""
            odd = odd or _Pieces(loop, calls).odd(call, first_of(helpers[called(call)]))
            if odd:
                return call, odd
            known.add(id(call))
    for node in nodes(body):
        if _is_streamed(node) and id(node) not in known:
            return node, "piece outside a loop over a row"
    return body, ""


def unsettled(node: c_ast.Node, tasks: Mapping[str, c_ast.FuncDef]) -> str:
    """Non-temporal stores in a block of code that does not end with waiting for them."""
    stored = [name for name in _calls(node, tasks) if name.startswith("streamed_")]
    last = node
    while isinstance(last, c_ast.Compound) and last.block_items:
        last = last.block_items[-1]
        if isinstance(last, c_ast.FuncCall) and last.name.name in tasks:
            last = tasks[last.name.name].body
    is_settled = isinstance(last, c_ast.FuncCall) and last.name.name.startswith("settled_")
    return stored[0] if stored and not is_settled else ""


@dataclass(frozen=True)
class _Pieces:
    """A loop over pieces, and the calls in it that store them."""

    loop: c_ast.For
    calls: list[c_ast.Node]

    def odd(self, call: c_ast.Node, first: int) -> str:
        """What is odd about a call in it; "" where nothing is."""
        target, strip, *_, past = call.args.exprs
        if not self._is_whole(call, first):
            return "piece that is not between its neighbours"
        row = target.expr if isinstance(target, c_ast.UnaryOp) else None
        if not isinstance(row, c_ast.ArrayRef) or text_of(row.subscript) != self._counter:
            return "piece with no place to store to where its loop is"
        declared = {node.name for node in nodes(self.loop) if isinstance(node, c_ast.Decl)}
        if declared & (names_in(row.name) | names_in(strip) | names_in(past)):
            return "row or strip that is another one for each piece"
        if sum(text_of(other.args.exprs[1]) == text_of(strip) for other in self.calls) > 1:
            return "strip of two rows"
        if not self._is_alone(base_of(row), base_of(strip), first):
            return "other use of a row, or of what is kept of it"
        return ""

    @property
    def _counter(self) -> str:
        return _start(self.loop)[0]

    def _is_whole(self, call: c_ast.Node, line: int) -> bool:
        """Whether a call is told of the whole piece, of a line or more, and of the row's ends."""
        _, _, count, first, last, _ = call.args.exprs
        (x, start), (_, past) = _start(self.loop), _sides(last)
        step = self.loop.next
        goes_on = isinstance(step, c_ast.Assignment) and step.op == "+="
        if not goes_on or not text_of(step.rvalue).isdecimal() or int(text_of(step.rvalue)) < line:
            return False
        ends = [
            node.name
            for node in _items(self.loop.stmt)
            if isinstance(node, c_ast.Decl)
            and "const" in node.quals
            and text_of(node.init) == f"min_i64({x} + {text_of(step.rvalue)}, {past})"
        ]
        given = (text_of(count), _sides(first), _sides(last))
        whole = [(f"{end} - {x}", (x, start), (end, past)) for end in ends]
        return given in whole and past == self._past

    @property
    def _past(self) -> str:
        """The first value of the counter that the loop does not run for; "" of other loops."""
        condition = self.loop.cond
        if not isinstance(condition, c_ast.BinaryOp) or text_of(condition.left) != self._counter:
            return ""
        if condition.op == "<":
            return text_of(condition.right)
        one = c_ast.Constant("int", "1")
        return text_of(c_ast.BinaryOp("+", condition.right, one)) if condition.op == "<=" else ""

    def _is_alone(self, row: str, strip: str, first: int) -> bool:
        """Whether the loop uses the row in these calls alone, and of the strip just the piece."""
        begin = [_start(loop) for loop, _ in _loops(self.loop.stmt, "")]
        inner = {counter for counter, start in begin if start == self._counter}
        pieces = {f"{x} - {self._counter} + {first}" for x in inner}
        pieces |= {f"({x} - {self._counter}) + {first}" for x in inner}
        left = {row: 0, strip: 0}
        for node in nodes(self.loop):
            if isinstance(node, c_ast.ID) and node.name in left:
                left[node.name] += 1
            elif isinstance(node, c_ast.ArrayRef) and base_of(node) == strip:
                left[strip] -= text_of(node.subscript) in pieces
        for call in self.calls:
            target, given, *_ = call.args.exprs
            left[row] -= base_of(target.expr) == row if isinstance(target, c_ast.UnaryOp) else 0
            left[strip] -= base_of(given) == strip
        return not any(left.values())


def _calls(node: c_ast.Node, tasks: Mapping[str, c_ast.FuncDef]) -> Iterator[str]:
    """The names of the functions that are called, by tasks as well."""
    if isinstance(node, c_ast.FuncCall) and isinstance(node.name, c_ast.ID):
        yield node.name.name
        if node.name.name in tasks:
            yield from _calls(tasks[node.name.name].body, tasks)
    for _, child in node.children():
        yield from _calls(child, tasks)


def _loops(node: c_ast.Node, pragma: str) -> Iterator[tuple[c_ast.For, str]]:
    """The loops of a body with the pragmas before them, outer ones first."""
    if isinstance(node, c_ast.For):
        yield node, pragma
    before = ""
    for _, child in node.children():
        yield from _loops(child, before)
        before = child.string if isinstance(child, c_ast.Pragma) else ""


def _start(loop: c_ast.For) -> tuple[str, str]:
    """A loop's counter and its first value; nothing where it declares none."""
    decls = loop.init.decls if isinstance(loop.init, c_ast.DeclList) else []
    return (decls[0].name, text_of(decls[0].init)) if len(decls) == 1 else ("", "")


def _items(body: c_ast.Node) -> list[c_ast.Node]:
    return (body.block_items or []) if isinstance(body, c_ast.Compound) else [body]


def _is_streamed(node: c_ast.Node) -> bool:
    return isinstance(node, c_ast.FuncCall) and called(node).startswith("streamed_")


def _sides(node: c_ast.Node) -> tuple[str, str]:
    """What a test takes for equal; nothing of anything else."""
    is_one = isinstance(node, c_ast.BinaryOp) and node.op == "=="
    return (text_of(node.left), text_of(node.right)) if is_one else ("", "")
