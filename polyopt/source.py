"""Source text, spans in it, and the caret that points at a span."""

from __future__ import annotations

from dataclasses import dataclass

from polyopt.oneline import one_line, some

#: columns shown of a longer source line
_WIDEST = 200


@dataclass(frozen=True)
class Source:
    """A named piece of program text: a C file, a Python function, or stages."""

    name: str
    text: str

    def __repr__(self) -> str:
        """Its name, and how long it is."""
        return one_line(self, self.name, some(self.text.count("\n") + 1, "line"))

    def line(self, number: int) -> str:
        """Line ``number`` (from 1) without its newline; empty past the end."""
        lines = self.text.split("\n")
        return lines[number - 1].rstrip("\r") if 0 < number <= len(lines) else ""


@dataclass(frozen=True)
class Span:
    """Where something stands: ``length`` columns from ``line:column`` (from 1)."""

    source: Source
    line: int
    column: int = 1
    length: int = 1

    def __str__(self) -> str:
        """``file:line:column``, as compilers print it."""
        return f"{self.source.name}:{self.line}:{self.column}"

    def render(self) -> str:
        """The source line with carets under the span.

        >>> print(Span(Source("a.c", "x = a[i*i];"), 1, 7, 3).render())
           1 | x = a[i*i];
             |       ^^^
        """
        text = self.source.line(self.line)
        if not text:
            return ""
        width = max(1, min(self.length, len(text) - self.column + 1, _WIDEST))
        first = self.column - 1
        if len(text) > _WIDEST:  # what a generator wrote: the part around the span is enough
            start = max(0, first - (_WIDEST - width) // 2)
            text, first = text[start : start + _WIDEST], first - start
        lead = "".join("\t" if c == "\t" else " " for c in text[:first])
        return f"{self.line:>4} | {text}\n     | {lead}{'^' * width}"
