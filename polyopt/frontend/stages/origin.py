"""Where in the user's Python an expression was made: kept cheaply, resolved when asked for."""

from __future__ import annotations

import inspect
import linecache
from functools import lru_cache
from types import CodeType
from typing import TYPE_CHECKING

from polyopt.source import Source, Span

if TYPE_CHECKING:
    from types import FrameType

#: A code object and the position of an instruction in it.
Origin = tuple[CodeType, int]


def origin() -> Origin:
    """The innermost call that stands outside this package."""
    frame: FrameType | None = inspect.currentframe()
    while frame is not None and frame.f_globals.get("__name__", "").startswith(_OURS):
        frame = frame.f_back
    if frame is None:
        return origin.__code__, 0
    return frame.f_code, frame.f_lasti


def raised_at(error: BaseException) -> Origin:
    """Where an exception comes from: the innermost call of its way that is outside polyopt."""
    trace, found = error.__traceback__, origin()
    while trace is not None:
        module = str(trace.tb_frame.f_globals.get("__name__", ""))
        if module.partition(".")[0] != "polyopt":
            found = (trace.tb_frame.f_code, trace.tb_lasti)
        trace = trace.tb_next
    return found


#: stages, and what compares arguments with annotations around them
_OURS = (__name__.rpartition(".")[0], "polyopt.arguments")


def span_of(place: Origin) -> Span:
    """The expression at an origin, with its columns."""
    code, last = place
    positions = _positions(code)
    line, end_line, column, end = positions[min(last // 2, len(positions) - 1)]
    source = _source(code.co_filename)
    line = line or code.co_firstlineno
    text = source.line(line)
    first = _characters(text, column or 0)
    last_column = _characters(text, end or 0) if end_line == line else len(text)
    return Span(source, line, first + 1, max(1, last_column - first))


def _characters(line: str, offset: int) -> int:
    return len(line.encode()[:offset].decode(errors="ignore"))


@lru_cache(maxsize=512)
def _positions(code: CodeType) -> list[tuple[int | None, int | None, int | None, int | None]]:
    return list(code.co_positions())


@lru_cache(maxsize=64)
def _source(name: str) -> Source:
    return Source(name, "".join(linecache.getlines(name)))
