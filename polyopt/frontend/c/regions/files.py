"""A whole C file with marked regions: each lowered by itself, or declined by itself."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from polyopt.errors import PolyoptError, ProgramSyntaxError, TooDeepError, unexpected
from polyopt.frontend.c.lower.ctypes import Types
from polyopt.frontend.c.regions.extract import RegionScop, lower_region
from polyopt.frontend.c.regions.pragmas import marked_regions
from polyopt.frontend.c.syntax.locations import Locator
from polyopt.frontend.c.syntax.parse import parse
from polyopt.frontend.c.syntax.preprocess import preprocess
from polyopt.source import Span

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pycparser import c_ast

    from polyopt.frontend.c.regions.pragmas import Marked
    from polyopt.frontend.c.syntax.preprocess import Preprocessed
    from polyopt.source import Source


@dataclass(frozen=True, eq=False)
class Declined:
    """A region that stays as it is, and why."""

    first: int
    last: int
    error: PolyoptError


def lower_regions(
    source: Source, defines: Mapping[str, str | int], includes: Sequence[str] = ()
) -> tuple[RegionScop | Declined, ...]:
    """The marked regions of a file in its order, each as a Scop or declined.

    ``includes`` are folders to look for included files in, after that of the file.

    Raises ``ProgramSyntaxError``, ``TooLargeError`` or ``TooDeepError`` where the whole is wrong.
    """
    text = preprocess(source, defines, includes)
    locator = Locator(text)
    try:
        tree = parse(text, locator)
        marked = marked_regions(tree, text, locator)
    except RecursionError:
        msg = "the program is nested too deep"
        raise TooDeepError(
            msg, span=Span(source, 1), hint="split long expressions and deep nests"
        ) from None
    if not marked:
        msg = "no region is marked in this file"
        hint = "put #pragma scop before the loops and #pragma endscop after them"
        raise ProgramSyntaxError(msg, span=Span(source, 1), hint=hint)
    types = Types(locator, tree)
    return tuple(_lowered(tree, text, locator, types, region) for region in marked)


def _lowered(
    tree: c_ast.FileAST, text: Preprocessed, locator: Locator, types: Types, region: Marked
) -> RegionScop | Declined:
    try:
        return lower_region(tree, text, locator, types, region)
    except RecursionError:
        msg = "the region is nested too deep"
        error: PolyoptError = TooDeepError(
            msg, span=locator.line_span(region.first), hint="split long expressions and deep nests"
        )
    except PolyoptError as found:
        error = found
    except Exception as found:  # noqa: BLE001  (a defect in one region leaves the others)
        error = unexpected(found)
    return Declined(region.first, region.last, error)
