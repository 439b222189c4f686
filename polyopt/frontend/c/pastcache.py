"""Calls of generated C that store past the caches, as plain loops; what only fetches says nothing.

rewrite: ``streamed_f32(&a[i][x], strip[2], count, bytes > past);`` ->
``for (k < count) a[i][x + k] = strip[2][k];``
"""

# The parser's trees are copied and changed by the names of their parts, which have no types.
# pyright: basic, reportAttributeAccessIssue=false, reportReturnType=false
# pyright: reportOptionalIterable=false, reportArgumentType=false, reportCallIssue=false
# pyright: reportOptionalMemberAccess=false

from __future__ import annotations

import copy
import re
from typing import TYPE_CHECKING

from pycparser import c_ast

from polyopt.frontend.c.nodes import binary, constant, integer, text_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

PAST_CACHES = re.compile(r"(streamed|settled|fetched)_[uif]\d+")
#: what these do where the compiler is none that is known, as the parser's printer writes it
_MEANINGS = {
    "streamed": """{
  (void) past;
  for (int64_t k = 0; k < count; k++)
  {
    to[k] = from[k];
  }

}
""",
    "settled": "{\n}\n\n",
    "fetched": """{
  for (int k = 0; past && (k < COUNT); k += 64 / ((int) (sizeof(TYPE))))
  {
    __builtin_prefetch(from + k);
  }

}
""",
}


def plain_store(
    call: c_ast.FuncCall, helper: c_ast.FuncDef, fresh: Callable[[str], str]
) -> list[c_ast.Node]:
    """The call as statements of plain C; ``fresh`` makes names.

    Raises ``ValueError`` with the rule of generated code that is broken.
    """
    name = call.name.name
    kind = name.partition("_")[0]
    # how much is fetched means nothing
    body = re.sub(r"k < \d+\b", "k < COUNT", text_of(helper.body))
    body = re.sub(r"sizeof\(\w+\)", "sizeof(TYPE)", body)
    if body.strip() != _MEANINGS[kind].strip():
        msg = f"{name} is not what it is known as"
        raise ValueError(msg)
    if kind != "streamed":
        return []
    target, source, count, _ = call.args.exprs
    element = target.expr if isinstance(target, c_ast.UnaryOp) else None
    if not _is_element(element):
        msg = f"{name} is given no place to store to"
        raise ValueError(msg)
    index = fresh("k")
    written = copy.deepcopy(element)
    written.subscript = binary("+", written.subscript, c_ast.ID(index))
    read = c_ast.ArrayRef(source, c_ast.ID(index), call.coord)
    body = c_ast.Compound([c_ast.Assignment("=", written, read, call.coord)])
    init = c_ast.DeclList([integer(index, constant(0))])
    condition = binary("<", c_ast.ID(index), count)
    return [c_ast.For(init, condition, c_ast.UnaryOp("p++", c_ast.ID(index)), body, call.coord)]


def unsettled(node: c_ast.Node, tasks: Mapping[str, c_ast.FuncDef]) -> str:
    """What stores past the caches in a block of code that does not end with waiting for it."""
    stored = [name for name in _calls(node, tasks) if name.startswith("streamed_")]
    last = node
    while isinstance(last, c_ast.Compound) and last.block_items:
        last = last.block_items[-1]
        if isinstance(last, c_ast.FuncCall) and last.name.name in tasks:
            last = tasks[last.name.name].body
    is_settled = isinstance(last, c_ast.FuncCall) and last.name.name.startswith("settled_")
    return stored[0] if stored and not is_settled else ""


def _calls(node: c_ast.Node, tasks: Mapping[str, c_ast.FuncDef]) -> Iterator[str]:
    """The names of the functions that are called, by tasks as well."""
    if isinstance(node, c_ast.FuncCall) and isinstance(node.name, c_ast.ID):
        yield node.name.name
        if node.name.name in tasks:
            yield from _calls(tasks[node.name.name].body, tasks)
    for _, child in node.children():
        yield from _calls(child, tasks)


def _is_element(node: c_ast.Node | None) -> bool:
    return isinstance(node, c_ast.ArrayRef)
