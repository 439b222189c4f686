"""The regions of a file that ``#pragma scop`` and ``#pragma endscop`` mark, one after the other."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from pycparser import c_ast

from polyopt.errors import ProgramSyntaxError
from polyopt.frontend.c.syntax.usage import nodes

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from polyopt.frontend.c.syntax.locations import Locator
    from polyopt.frontend.c.syntax.preprocess import Preprocessed

_MARK = re.compile(r"\s*#\s*pragma\s+(scop|endscop)\b")


@dataclass(frozen=True, eq=False)
class Marked:
    """What stands between two pragmas, and what is known where it stands."""

    function: c_ast.FuncDef
    items: list[c_ast.Node]
    #: lines of the two pragmas in the source
    first: int
    last: int
    #: declarations that can be seen there, by name: the file's, the function's, its blocks'
    visible: Mapping[str, c_ast.Decl]
    #: what may run afterwards in the function, in order
    after: Sequence[c_ast.Node]
    #: names of its blocks' own variables, and of its arguments: a block's ``extern`` is the file's
    local: frozenset[str]


@dataclass(frozen=True)
class _Scope:
    """Where a walk through a function stands."""

    visible: dict[str, c_ast.Decl]
    local: frozenset[str]
    after: tuple[c_ast.Node, ...] = field(default=())

    def with_decls(self, decls: Sequence[c_ast.Decl]) -> _Scope:
        named = {decl.name: decl for decl in decls if decl.name}
        linked = {name for name, decl in named.items() if "extern" in decl.storage}
        local = (self.local | named.keys()) - linked
        return _Scope({**self.visible, **named}, local, self.after)


def marks_in(text: Preprocessed) -> list[tuple[int, str]]:
    """``(line, word)`` of every scop pragma that the preprocessor left."""
    found = ((line, _MARK.match(pragma)) for line, pragma in sorted(text.pragmas.items()))
    return [(line, match.group(1)) for line, match in found if match is not None]


def marked_regions(tree: c_ast.FileAST, text: Preprocessed, locator: Locator) -> tuple[Marked, ...]:
    """The marked regions in the order of the file.

    Raises ``ProgramSyntaxError`` for pragmas that do not pair up within one block.
    """
    _check_pairs(marks_in(text), locator)
    globals_ = {n.name: n for n in tree.ext if isinstance(n, c_ast.Decl) and n.name}
    found: list[Marked] = []
    for node in tree.ext:
        if not isinstance(node, c_ast.FuncDef):
            continue
        listed = node.decl.type.args
        arguments = [a for a in (listed.params if listed else []) if isinstance(a, c_ast.Decl)]
        start = _Scope(globals_, frozenset()).with_decls(arguments)
        found += _regions(node, node.body, start, locator)
    begins = [line for line, word in marks_in(text) if word == "scop"]
    lost = set(begins) - {region.first for region in found}
    if lost:
        msg = "this pragma stands where no statement can"
        hint = "put it before a statement, inside a function"
        raise locator.error(ProgramSyntaxError, locator.line_span(min(lost)), msg, hint=hint)
    return tuple(sorted(found, key=lambda region: region.first))


def _check_pairs(marks: Sequence[tuple[int, str]], locator: Locator) -> None:
    open_at = 0
    for line, word in marks:
        if word == "scop" and open_at:
            msg = f"a region begins inside the one that line {open_at} begins"
            raise _unpaired(locator, line, msg, "close that one first with #pragma endscop")
        if word == "endscop" and not open_at:
            msg = "this pragma closes a region that nothing begins"
            raise _unpaired(locator, line, msg, "begin it with #pragma scop")
        open_at = line if word == "scop" else 0
    if open_at:
        msg = "the region that begins here does not end"
        raise _unpaired(locator, open_at, msg, "close it with #pragma endscop")


def _unpaired(locator: Locator, line: int, message: str, hint: str) -> Exception:
    return locator.error(ProgramSyntaxError, locator.line_span(line), message, hint=hint)


def _regions(
    function: c_ast.FuncDef, node: c_ast.Node | None, scope: _Scope, locator: Locator
) -> Iterator[Marked]:
    """The regions below a statement."""
    match node:
        case c_ast.Compound():
            yield from _in_block(function, list(node.block_items or []), scope, locator)
        case c_ast.For() | c_ast.While() | c_ast.DoWhile():
            decls = getattr(node.init, "decls", []) if isinstance(node, c_ast.For) else []
            again = _Scope(scope.visible, scope.local, (*_once_more(node), *scope.after))
            again = again.with_decls(decls)
            yield from _regions(function, node.stmt, again, locator)
        case c_ast.If():
            yield from _regions(function, node.iftrue, scope, locator)
            yield from _regions(function, node.iffalse, scope, locator)
        case c_ast.Switch() | c_ast.Label():
            yield from _regions(function, node.stmt, scope, locator)
        case c_ast.Case() | c_ast.Default():
            yield from _in_block(function, list(node.stmts or []), scope, locator)
        case _:
            return


def _once_more(loop: c_ast.Node) -> tuple[c_ast.Node, ...]:
    """What runs after an iteration of a loop: its step, and another loop, which starts there."""
    match loop:
        case c_ast.For():
            again = c_ast.For(None, loop.cond, loop.next, loop.stmt, loop.coord)
            return (again,) if loop.next is None else (loop.next, again)
        case c_ast.DoWhile():
            return (c_ast.While(loop.cond, loop.stmt, loop.coord),)
        case _:
            return (loop,)


def after_labels(
    node: c_ast.Node | None, after: tuple[c_ast.Node, ...] = ()
) -> Iterator[Sequence[c_ast.Node]]:
    """For each label below a statement, what may run after a jump to it, in order."""
    match node:
        case c_ast.Compound() | c_ast.Case() | c_ast.Default():
            items = node.block_items if isinstance(node, c_ast.Compound) else node.stmts
            items = _flat(list(items or []))
            for position, item in enumerate(items):
                yield from after_labels(item, (*items[position + 1 :], *after))
        case c_ast.For() | c_ast.While() | c_ast.DoWhile():
            yield from after_labels(node.stmt, (*_once_more(node), *after))
        case c_ast.If():
            yield from after_labels(node.iftrue, after)
            yield from after_labels(node.iffalse, after)
        case c_ast.Switch():
            yield from after_labels(node.stmt, after)
        case c_ast.Label():
            yield (node.stmt, *after)
            yield from after_labels(node.stmt, after)
        case _:
            return


def _in_block(
    function: c_ast.FuncDef, items: list[c_ast.Node], scope: _Scope, locator: Locator
) -> Iterator[Marked]:
    begin: int | None = None
    items = _flat(items)
    for position, item in enumerate(items):
        word = _word(item)
        if word == "scop":
            begin = position
        elif word == "endscop":
            if begin is None:
                raise _not_here(locator, item)
            rest = items[position + 1 :]
            first, last = _line(items[begin]), _line(item)
            yield Marked(
                function, items[begin + 1 : position], first, last,
                scope.visible, (*rest, *scope.after), scope.local,
            )  # fmt: skip
            begin = None
        elif begin is None:
            inner = _Scope(scope.visible, scope.local, (*items[position + 1 :], *scope.after))
            yield from _regions(function, item, inner, locator)
            scope = scope.with_decls([item] if isinstance(item, c_ast.Decl) else [])
        else:
            stray = next((n for n in nodes(item) if _word(n)), None)
            if stray is not None:
                raise _not_here(locator, stray)
    if begin is not None:
        msg = "this region runs off the end of its block"
        hint = "put #pragma endscop into the same block as #pragma scop"
        span = locator.line_span(_line(items[begin]))
        raise locator.error(ProgramSyntaxError, span, msg, hint=hint)


def _flat(items: list[c_ast.Node]) -> list[c_ast.Node]:
    """The items without the compounds that the parser makes of a pragma after a label or case."""
    result: list[c_ast.Node] = []
    for item in items:
        inner = item.stmt if isinstance(item, c_ast.Label) else item
        parts = list(inner.block_items or []) if isinstance(inner, c_ast.Compound) else []
        if parts and isinstance(parts[0], c_ast.Pragma) and _place(parts[0]) == _place(inner):
            result += _flat(parts)
        else:
            result.append(item)
    return result


def _place(node: c_ast.Node) -> tuple[int, int | None]:
    return (node.coord.line, node.coord.column) if node.coord is not None else (0, None)


def _line(node: c_ast.Node) -> int:
    return node.coord.line if node.coord is not None else 1


def _not_here(locator: Locator, node: c_ast.Node) -> Exception:
    msg = "this region does not begin and end in one block"
    hint = "put both pragmas into the same block of one function"
    return locator.error(ProgramSyntaxError, locator.line_span(_line(node)), msg, hint=hint)


def _word(node: c_ast.Node) -> str:
    """``scop`` or ``endscop`` for their pragmas, else nothing."""
    words = node.string.split()[:1] if isinstance(node, c_ast.Pragma) else []
    return words[0] if words and words[0] in {"scop", "endscop"} else ""
