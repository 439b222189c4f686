"""Non-temporal stores of generated C as plain loops; prefetches say nothing.

rewrite: ``streamed_f32(&a[i][x], strip[2], count, first, last, bytes > past);`` ->
``for (k < count) a[i][x + k] = strip[2][16 + k];``

A line that a piece ends in is stored with the next one: ``nontemporal_rows`` tells where that is
right.
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

from polyopt.frontend.c.syntax.nodes import binary, constant, integer, text_of

if TYPE_CHECKING:
    from collections.abc import Callable

#: where in a strip its first element is, behind what is kept of the piece before
_FIRST = re.compile(r"strip\[(\d+) \+ k\]")
PAST_CACHES = re.compile(r"(streamed|settled|fetched)_[uif]\d+")
#: what these do where the compiler is none that is known, as the parser's printer writes it
_MEANINGS = {
    "streamed": """{
  (void) first, (void) last, (void) past;
  for (int64_t k = 0; k < count; k++)
  {
    to[k] = strip[LINE + k];
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
    body = _FIRST.sub("strip[LINE + k]", body)
    body = re.sub(r"sizeof\(\w+\)", "sizeof(TYPE)", body)
    if body.strip() != _MEANINGS[kind].strip():
        msg = f"{name} is not what it is known as"
        raise ValueError(msg)
    if kind != "streamed":
        return []
    target, source, count, *_ = call.args.exprs
    element = target.expr if isinstance(target, c_ast.UnaryOp) else None
    if not _is_element(element):
        msg = f"{name} is given no place to store to"
        raise ValueError(msg)
    index = fresh("k")
    written = copy.deepcopy(element)
    written.subscript = binary("+", written.subscript, c_ast.ID(index))
    place = binary("+", constant(first_of(helper)), c_ast.ID(index))
    read = c_ast.ArrayRef(source, place, call.coord)
    body = c_ast.Compound([c_ast.Assignment("=", written, read, call.coord)])
    init = c_ast.DeclList([integer(index, constant(0))])
    condition = binary("<", c_ast.ID(index), count)
    return [c_ast.For(init, condition, c_ast.UnaryOp("p++", c_ast.ID(index)), body, call.coord)]


def first_of(helper: c_ast.FuncDef) -> int:
    """Where in a strip its first element is; 0 where the helper does not say."""
    found = _FIRST.search(text_of(helper.body))
    return int(found[1]) if found else 0


def _is_element(node: c_ast.Node | None) -> bool:
    return isinstance(node, c_ast.ArrayRef)
