"""From a node of the parse tree to the place in the source that a caret can mark."""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import dataclass
from difflib import SequenceMatcher
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from pycparser import c_ast

from polyopt.source import Span

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from polyopt.errors import PolyoptError
    from polyopt.frontend.c.syntax.preprocess import Preprocessed

TOKEN = re.compile(
    r"""[A-Za-z_]\w*|\.?\d(?:[eEpP][+-]|[\w.])*|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'"""
    r"""|<<=|>>=|->|\+\+|--|&&|\|\||[-+*/%&|^<>=!]=|<<|>>|\S"""
)
_OPEN, _CLOSE = {"(", "[", "{"}, {")": "(", "]": "[", "}": "{"}
_PREFIX = {"-", "+", "!", "~", "*", "&", "++", "--"}

Place = tuple[int, int]
#: pairs of tokens, before and after macros, that are looked at in search of the best alignment;
#: lines beyond are taken to be one expansion between a common start and a common end
_MOST_COMPARED = 2_000_000


@dataclass(frozen=True)
class _Aligned:
    """A line's tokens in the source and as preprocessed, and which stand for which."""

    was: list[re.Match[str]]
    now: list[re.Match[str]]
    starts: list[int]
    blocks: Sequence[tuple[str, int, int, int, int]]


def _ends(old: Sequence[str], new: Sequence[str]) -> list[tuple[str, int, int, int, int]]:
    """The equal start, what differs, and the equal end of two sequences."""
    most = min(len(old), len(new))
    head = next((k for k in range(most) if old[k] != new[k]), most)
    tail = next((k for k in range(most - head) if old[-1 - k] != new[-1 - k]), most - head)
    a, b = len(old) - tail, len(new) - tail
    return [
        ("equal", 0, head, 0, head),
        ("replace", head, a, head, b),
        ("equal", a, len(old), b, len(new)),
    ]


class Locator:
    """Spans of nodes, in the original text, of one preprocessed program."""

    def __init__(self, program: Preprocessed) -> None:
        self._program = program
        self._lines = program.text.split("\n")
        self._aligned: dict[int, _Aligned] = {}
        self._compared = 0

    @cached_property
    def tokens(self) -> list[tuple[int, int, str]]:
        """``(line, column, text)`` of every token outside pragmas, in order."""
        return [
            (number, found.start() + 1, found.group())
            for number, line in enumerate(self._lines, 1)
            if not line.lstrip().startswith("#")
            for found in TOKEN.finditer(line)
        ]

    @cached_property
    def _depths(self) -> np.ndarray:
        """How many brackets are open before each token, and after the last."""
        steps = [(text in _OPEN) - (text in _CLOSE) for _, _, text in self.tokens]
        return np.cumsum([0, *steps])

    @cached_property
    def _places(self) -> list[Place]:
        return [(line, column) for line, column, _ in self.tokens]

    def error(
        self,
        kind: type[PolyoptError],
        node: c_ast.Node | Place | Span | None,
        message: str,
        *,
        hint: str = "",
        notes: tuple[str, ...] = (),
    ) -> PolyoptError:
        """An error of that kind that points at the node."""
        span = node if isinstance(node, Span) else self.span(node)
        return kind(message, span=span, hint=hint, notes=notes)

    def span(self, node: c_ast.Node | Place | None) -> Span:
        """The place of a node (or a token at ``(line, column)``) in the source."""
        if node is None:
            return Span(self._program.source, 1)
        places = [node] if isinstance(node, tuple) else list(_leaf_places(node))
        if not places:
            return Span(self._program.source, 1)
        first, last = self._index(min(places)), self._index(max(places))
        if first is None or last is None:
            line, column = min(places)
            return self._pragma_span(line, column, max(places)[1])
        if isinstance(node, c_ast.Node):
            first, last = self._balance(node, first, last)
        return self._between(first, last)

    def line_span(self, line: int) -> Span:
        """A whole line of the source, without its indentation."""
        text = self._program.source.line(line)
        column = len(text) - len(text.lstrip()) + 1
        return Span(self._program.source, line, column, max(1, len(text.strip())))

    def _index(self, place: Place) -> int | None:
        """The token that starts at, or holds, the place."""
        found = bisect_right(self._places, place) - 1
        if found < 0 or self._places[found][0] != place[0]:
            return None
        return found

    def _balance(self, node: c_ast.Node, first: int, last: int) -> tuple[int, int]:
        """Take in the brackets and prefix operators that belong to the node."""
        # parts of calls that were inlined are far from each other: lines of tokens lie between
        lowest = self._depths[first : last + 2].min()
        if self._depths[last + 1] > lowest:
            closed = np.flatnonzero(self._depths[last + 2 :] <= lowest)
            last = last + 1 + int(closed[0]) if closed.size else len(self.tokens) - 1
        if self._depths[first] > lowest:
            opened = np.flatnonzero(self._depths[:first] <= lowest)
            first = int(opened[-1]) if opened.size else 0
        if isinstance(node, c_ast.UnaryOp):
            first, last = self._operator(node, first, last)
        return first, last

    def _operator(self, node: c_ast.UnaryOp, first: int, last: int) -> tuple[int, int]:
        if node.op in {"p++", "p--"}:
            return first, min(last + 1, len(self.tokens) - 1)
        start = first
        while start > 0 and self.tokens[start - 1][2] == "(":
            start -= 1
            last = min(last + 1, len(self.tokens) - 1)
        if start > 0 and self.tokens[start - 1][2] in {*_PREFIX, "sizeof"}:
            return start - 1, last
        return first, last

    def _between(self, first: int, last: int) -> Span:
        line, column, text = self.tokens[first]
        end_line, end_column, end_text = self.tokens[last]
        end = end_column + len(end_text) if end_line == line else len(self._lines[line - 1]) + 1
        start, stop = self._original(line, column, max(end, column + len(text)))
        return Span(self._program.source, line, start, stop - start)

    def _original(self, line: int, start: int, stop: int) -> Place:
        """Columns of the source line for columns of the preprocessed line."""
        old, new = self._program.source.line(line), self._lines[line - 1]
        if old[start - 1 : stop - 1] == new[start - 1 : stop - 1]:
            return start, max(stop, start + 1)
        found = self._alignment(line)
        was, now = found.was, found.now
        first = max(0, bisect_right(found.starts, start - 1) - 1)
        first += first < len(now) and now[first].end() < start
        last = bisect_right(found.starts, stop - 2)
        touched: list[range] = []
        for _, a, b, c, d in found.blocks:
            inside = range(max(c, first), min(d, last))
            if inside and d - c == b - a:
                touched.append(range(a + inside[0] - c, a + inside[-1] - c + 1))
            elif inside and (a < b or was):
                # of what a macro put in there is nothing in the source: its neighbours
                here = range(a, b) if a < b else range(max(0, a - 1), min(a + 1, len(was)))
                touched.append(here)
        exact = old.find(new[start - 1 : stop - 1])
        changed = sum(map(len, touched)) != last - first or any(
            was[k].group() != now[first + n].group()
            for n, k in enumerate(k for part in touched for k in part)
        )
        if changed and exact >= 0:
            return exact + 1, exact + 1 + stop - start
        if not touched:
            return 1, len(old) + 1
        return was[touched[0][0]].start() + 1, was[touched[-1][-1]].end() + 1

    def _alignment(self, line: int) -> _Aligned:
        """The tokens of a line before and after macros, side by side; made once for each line."""
        if line not in self._aligned:
            was = list(TOKEN.finditer(self._program.source.line(line)))
            now = list(TOKEN.finditer(self._lines[line - 1]))
            old, new = [t.group() for t in was], [t.group() for t in now]
            self._compared += len(was) * len(now)
            same = self._compared <= _MOST_COMPARED
            blocks = (
                SequenceMatcher(None, old, new, False).get_opcodes() if same else _ends(old, new)
            )
            self._aligned[line] = _Aligned(was, now, [t.start() for t in now], blocks)
        return self._aligned[line]

    def _pragma_span(self, line: int, column: int, last: int) -> Span:
        text = self._program.source.line(line)
        found = TOKEN.match(text, last - 1)
        return Span(
            self._program.source, line, column, (found.end() + 1 if found else last) - column
        )


def _leaf_places(node: c_ast.Node) -> Iterator[Place]:
    """Where the node and all nodes below it start; without recursion."""
    waiting = [node]
    while waiting:
        current = waiting.pop()
        if current.coord is not None and not isinstance(current, c_ast.ExprList):
            yield current.coord.line, current.coord.column or 1
        waiting += [child for _, child in current.children()]
