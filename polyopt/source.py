"""Source text, spans in it, and the caret that points at a span."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Source:
    """A named piece of program text: a C file, a Python function, or stages."""

    name: str
    text: str

    def line(self, number: int) -> str:
        """Line ``number`` (from 1) without its newline; empty past the end."""
        lines = self.text.splitlines()
        return lines[number - 1] if 0 < number <= len(lines) else ""


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
        lead = "".join("\t" if c == "\t" else " " for c in text[: self.column - 1])
        width = max(1, min(self.length, len(text) - self.column + 1))
        return f"{self.line:>4} | {text}\n     | {lead}{'^' * width}"
