"""The text of a Python function: its syntax tree, and spans in the file it stands in."""

from __future__ import annotations

import ast
import inspect
import textwrap
from dataclasses import dataclass
from typing import TYPE_CHECKING

from polyopt.errors import ProgramSyntaxError, TooDeepError, UnsupportedError
from polyopt.source import Source, Span

if TYPE_CHECKING:
    from collections.abc import Callable

#: Deeper syntax trees than this are refused, before Python's own recursion limit bites.
MAX_DEPTH = 256


@dataclass(frozen=True, eq=False)
class FunctionText:
    """A function's syntax tree with what turns its positions into spans of the file."""

    source: Source
    tree: ast.FunctionDef
    #: line of the file before the tree's first line, and columns that dedenting took off
    line: int
    column: int

    def span(self, node: ast.AST) -> Span:
        """Where a node stands in the file; to the end of its line where it goes on."""
        row: int = getattr(node, "lineno", 1)
        start: int = getattr(node, "col_offset", 0)
        end: int = getattr(node, "end_col_offset", None) or start + 1
        line = self.source.line(self.line + row)
        first = self._characters(line, start)
        if getattr(node, "end_lineno", row) != row:
            return Span(self.source, self.line + row, first + 1, max(1, len(line) - first))
        last = self._characters(line, end)
        return Span(self.source, self.line + row, first + 1, max(1, last - first))

    def _characters(self, line: str, offset: int) -> int:
        """Characters before a byte offset of the dedented line."""
        cut = line[self.column :].encode()[:offset]
        return self.column + len(cut.decode(errors="ignore"))


def function_text(function: Callable[..., object]) -> FunctionText:
    """The text of a function. Raises ``UnsupportedError`` where its source cannot be found."""
    try:
        lines, first = inspect.findsource(function)
        block, first = inspect.getsourcelines(function)
        name = inspect.getsourcefile(function) or "<function>"
    except (OSError, TypeError):
        message = f"the source of {getattr(function, '__name__', function)!r} cannot be found"
        raise UnsupportedError(
            message, hint="define the function in a file or a notebook cell"
        ) from None
    source = Source(name, "".join(lines))
    text = textwrap.dedent("".join(block))
    column = len(block[0]) - len(block[0].lstrip())
    try:
        tree = ast.parse(text)
    except (RecursionError, MemoryError):
        raise TooDeepError(
            f"{function.__name__} is nested too deeply", span=Span(source, first)
        ) from None
    except SyntaxError as error:
        span = Span(source, first + (error.lineno or 1) - 1)
        raise ProgramSyntaxError(f"this does not parse: {error.msg}", span=span) from None
    found = next((n for n in tree.body if isinstance(n, ast.FunctionDef)), None)
    if found is None:
        raise UnsupportedError("a program is a function made with def", span=Span(source, first))
    result = FunctionText(source, found, first - 1, column)
    _check_depth(result)
    return result


def _check_depth(text: FunctionText) -> None:
    stack: list[tuple[ast.AST, int]] = [(text.tree, 0)]
    while stack:
        node, depth = stack.pop()
        if depth > MAX_DEPTH:
            raise TooDeepError(
                f"nested more than {MAX_DEPTH} levels deep",
                span=text.span(node),
                hint="split the expression with local variables",
            )
        stack += [(child, depth + 1) for child in ast.iter_child_nodes(node)]
