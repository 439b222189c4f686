"""C programs to Scops: ``parse_c``."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, cast

from polyopt.arguments import checks_arguments
from polyopt.errors import InvalidOptionError, ProgramSyntaxError, TooDeepError
from polyopt.frontend.c.lower.ctypes import Types
from polyopt.frontend.c.lower.entry import functions_of, inlines_of, programs_of
from polyopt.frontend.c.lower.limits import MAX_STATEMENTS
from polyopt.frontend.c.lower.program import lower_function
from polyopt.frontend.c.regions.pragmas import marked_regions
from polyopt.frontend.c.regions.standalone import choose_region, lower_standalone
from polyopt.frontend.c.syntax.locations import Locator
from polyopt.frontend.c.syntax.parse import parse
from polyopt.frontend.c.syntax.preprocess import MOST_BYTES, preprocess
from polyopt.source import Source, Span

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from polyopt.ir.scop import Scop

__all__ = ["parse_c", "programs_in", "read_source"]


@checks_arguments
def parse_c(
    source: str | Path,
    *,
    function: str | None = None,
    region: int | None = None,
    defines: Mapping[str, str | int] | None = None,
    includes: Sequence[str] = (),
    params: Iterable[str] = (),
) -> Scop:
    """The Scop of a C function, or of its part between the scop pragmas.

    ``source`` is a file, or program text (told by a brace or a new line). ``function`` says
    which function where there are several, ``region`` the line of the pragma where it marks
    several; ``defines`` are macros as on a compiler's command line, ``includes`` folders to look
    for included files in; ``params`` names integer arguments to keep as sizes even where no bound
    needs them.

    In a marked region, subscripts that data decide on (``count[key[i]]``) are the program's own
    duty, as for ``polyopt emit``; of a whole function ``#pragma polyopt inbounds`` has to say so.

    Raises ``ProgramSyntaxError``, ``NonAffineError``, ``UnsupportedError``, ``TooDeepError``,
    ``TypeMismatchError``, ``UnknownNameError``, ``TooLargeError`` or ``NotDecidedError``, each with
    its place in the text.

    >>> scop = parse_c("void twice(int n, float a[n]) { for (int i = 0; i < n; i++) a[i] *= 2; }")
    >>> scop.name, scop.params, [s.name for s in scop.statements]
    ('twice', ('n',), ['a'])
    """
    program = read_source(source)
    text = preprocess(program, _checked(defines or {}), includes)
    locator = Locator(text)
    try:
        tree = parse(text, locator)
        marked = marked_regions(tree, text, locator)
        found = choose_region(tree, marked, function, region, locator)
        if found is None:
            return lower_function(tree, text, locator, function, tuple(params), MAX_STATEMENTS)
        types = Types(locator, tree)
        return lower_standalone(tree, text, locator, types, found, tuple(params), MAX_STATEMENTS)
    except RecursionError:
        msg = "the program is nested too deep"
        raise TooDeepError(
            msg, span=Span(program, 1), hint="split long expressions and deep nests"
        ) from None


def programs_in(
    source: str | Path,
    defines: Mapping[str, str | int] | None = None,
    includes: Sequence[str] = (),
) -> tuple[str, ...]:
    """The names of the functions of a C file that may be programs: all but helpers and ``main``;
    none where regions are marked instead.

    Raises ``ProgramSyntaxError``, ``TooLargeError`` or ``TooDeepError``.
    """
    text = preprocess(read_source(source), _checked(defines or {}), includes)
    locator = Locator(text)
    tree = parse(text, locator)
    if marked_regions(tree, text, locator):
        return ()
    names = [node.decl.name for node in programs_of(functions_of(tree), inlines_of(tree))]
    return tuple(name for name in names if name != "main" or len(names) == 1)


def read_source(source: str | Path) -> Source:
    """The text of a file, or program text itself. Raises ``ProgramSyntaxError``."""
    if isinstance(source, str) and re.search(r"[{}\n]", source):
        return Source("<program>", source)
    if not source or not isinstance(cast("object", source), str | Path):
        msg = f"a C file or program text is needed, not {source!r}"
        raise InvalidOptionError(msg)
    path = Path(source)
    try:
        with path.open("rb") as file:
            data = file.read(MOST_BYTES + 1)
        if b"\0" not in data and len(data) <= MOST_BYTES:
            # what is not UTF-8 stands in comments and strings, and is kept as it is
            return Source(str(path), data.decode("utf-8", "surrogateescape"))
        msg = (
            f"{path} is not text"
            if b"\0" in data
            else f"{path} is longer than {MOST_BYTES:,} bytes"
        )
    except FileNotFoundError:
        msg = f"there is no file {path}"
    except (OSError, ValueError) as error:
        msg = f"cannot read {path}: {getattr(error, 'strerror', None) or error}"
    raise ProgramSyntaxError(msg, hint="give a C file, or program text with a function in it")


def is_macro_name(text: str) -> bool:
    """Whether a macro can be called so: ``N``, or ``AT(i, j)`` with its parameters."""
    return re.fullmatch(r"[A-Za-z_]\w*(\([\w, ]*\))?", text) is not None


def _checked(defines: Mapping[str, str | int]) -> Mapping[str, str | int]:
    for name in defines:
        if not is_macro_name(name):
            msg = f"{name!r} cannot be the name of a macro"
            raise InvalidOptionError(msg, hint="defines={'N': 64}")
    return defines
