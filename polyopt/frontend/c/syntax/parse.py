"""C text to pycparser's tree, the depth checked first, every mistake with its place."""

from __future__ import annotations

import re
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING

from pycparser import c_ast, c_lexer, c_parser

from polyopt.errors import ProgramSyntaxError, TooDeepError
from polyopt.frontend.c.syntax.declared_names import declared_names
from polyopt.frontend.c.syntax.desugar import desugared
from polyopt.isl import exclusive

if TYPE_CHECKING:
    from collections.abc import Generator
    from collections.abc import Set as AbstractSet

    from polyopt.frontend.c.syntax.locations import Locator
    from polyopt.frontend.c.syntax.preprocess import Preprocessed

#: Deepest nesting of brackets, statements, and operators that the frontend takes.
MAX_DEPTH = 200

#: types that the standard headers define
_TYPES = {
    "int8_t": "signed char", "uint8_t": "unsigned char", "int16_t": "short",
    "uint16_t": "unsigned short", "int32_t": "int", "uint32_t": "unsigned int",
    "int64_t": "long", "uint64_t": "unsigned long", "size_t": "unsigned long",
    "ssize_t": "long", "ptrdiff_t": "long", "intptr_t": "long", "uintptr_t": "unsigned long",
    "bool": "_Bool", "int_fast32_t": "long", "intmax_t": "long",
    "uintmax_t": "unsigned long", "FILE": "struct FILE", "time_t": "long",
    "clock_t": "long", "va_list": "struct va_list", "wchar_t": "int",
    "uint": "unsigned int", "ulong": "unsigned long", "ushort": "unsigned short",
}  # fmt: skip

_DEPTH_HINT = f"nesting is taken up to {MAX_DEPTH} deep; split the code into arrays or loops"
_PYTHON_FRAMES = 40_000
#: of one expression: the parser's trees are as deep as chains of operators are long
MAX_OPERATORS = 5_000
_OPERATOR = re.compile(r"[-+*/%&|^<>=!?]+")


def parse(program: Preprocessed, locator: Locator) -> c_ast.FileAST:
    """The tree of the whole file.

    Raises ``ProgramSyntaxError`` or ``TooDeepError``.
    """
    check_depth(locator)
    own = declared_names(program.text)
    text = f'{_prologue(own)}\n#line 1 "program"\n{program.text}\n'
    tree = _parse_text(text, locator, _OwnLexer if "offsetof" in own else _Lexer)
    with deep_recursion():
        return desugared(tree)


def _prologue(own: AbstractSet[str]) -> str:
    """Types of the standard headers that a program does not declare as something else.

    On one line, so that the program's lines stay.
    """
    return " ".join(f"typedef {kind} {name};" for name, kind in _TYPES.items() if name not in own)


def parse_condition(text: str, line: int, column: int, locator: Locator) -> c_ast.Node:
    """An expression that stands at ``line:column``, from a pragma."""
    lead = "int x="
    blanks = " " * max(0, column - 1 - len(lead))
    start = f'{_prologue(frozenset())}\n#line {line} "program"\n'
    tree = _parse_text(f"{start}{lead}{blanks}{text};\n", locator)
    holder = tree.ext[-1]
    assert isinstance(holder, c_ast.Decl)
    assert holder.init is not None
    return holder.init


class _Lexer(c_lexer.CLexer):
    """The lexer that remembers where it stood."""

    latest: tuple[int, int, str] = (1, 1, "")

    def token(self) -> c_lexer.Token | None:
        found = super().token()
        if found is not None:
            _Lexer.latest = (found.lineno, found.column, found.value)
        return found


class _OwnLexer(_Lexer):
    """The lexer for programs with an ``offsetof`` of their own, which is no keyword in C."""

    def token(self) -> c_lexer.Token | None:
        found = super().token()
        if found is not None and found.type == "OFFSETOF":
            # up to 3.0 it is the lexer of pycparser that tells types apart, after that the parser
            is_type = getattr(self, "type_lookup_func", None)
            found.type = "TYPEID" if is_type and is_type(found.value) else "ID"
        return found


def _parse_text(text: str, locator: Locator, lexer: type[_Lexer] = _Lexer) -> c_ast.FileAST:
    try:
        with deep_recursion():
            return c_parser.CParser(lexer=lexer).parse(text, "program")
    except c_parser.ParseError as error:
        raise _syntax_error(str(error), locator) from None
    except RecursionError:
        msg = "the program is nested too deep"
        raise locator.error(TooDeepError, _Lexer.latest[:2], msg, hint=_DEPTH_HINT) from None
    except (AssertionError, AttributeError, TypeError, ValueError, IndexError, KeyError):
        raise _syntax_error("program: not understood", locator) from None


def _syntax_error(message: str, locator: Locator) -> ProgramSyntaxError:
    found = re.match(r"[^:]*:(?:(\d+):(\d+):)?\s*(.*)", message, re.DOTALL)
    line, column, latest = _Lexer.latest
    reason = "this does not parse"
    if found is not None:
        reason = found.group(3)
        if found.group(1) and not reason.startswith("Invalid declaration"):
            line, column = int(found.group(1)), int(found.group(2))
        if reason.startswith("before: "):
            reason = f"did not expect {reason.removeprefix('before: ')!r} here"
        elif reason.startswith("Invalid"):
            reason = f"{reason[0].lower()}{reason[1:]} at {latest!r}"
        elif reason == "At end of input":
            reason = "the text ends too early"
    error = locator.error(
        ProgramSyntaxError, (line, column), reason, hint="a missing ';', ')' or '}' just before?"
    )
    assert isinstance(error, ProgramSyntaxError)
    return error


@contextmanager
def deep_recursion() -> Generator[None]:
    """Room for recursion over trees of the greatest depth that is taken."""
    with exclusive():
        before = sys.getrecursionlimit()
        sys.setrecursionlimit(max(before, _PYTHON_FRAMES))
        try:
            yield
        finally:
            sys.setrecursionlimit(before)


def check_depth(locator: Locator) -> None:
    """Refuse nesting beyond ``MAX_DEPTH`` before any recursive code meets it."""
    runs = [0]
    prefix, questions = 0, 0
    opened: list[str] = []
    ended = False
    for line, column, text in locator.tokens:
        if ended and text != "else":
            runs[-1], questions = 0, 0
        ended = False
        match text:
            case "(" | "[" | "{":
                opened.append(text)
                runs.append(0)
            case ")" | "]" | "}":
                ended = text == "}"
                if opened:
                    opened.pop()
                    runs.pop()
            case ";" if not opened or opened[-1] == "{":
                ended = True
            case "for" | "if" | "while" | "do" | "switch":
                runs[-1] += 1
            case "?":
                questions += 1
            case _:
                pass
        depth = len(opened) + sum(runs) + questions
        prefix = prefix + 1 if text in {"-", "+", "!", "~", "*", "&", "sizeof"} else 0
        if max(depth, prefix) > MAX_DEPTH:
            blocks = sum(runs) + opened.count("{")
            kind = "loops and conditions" if 2 * blocks > depth else "brackets"
            kind = "operators" if prefix > MAX_DEPTH else kind
            msg = f"{kind} nested more than {MAX_DEPTH} deep"
            span = locator.span((line, column))
            raise TooDeepError(msg, span=span, hint=_DEPTH_HINT)
    _check_length(locator)


def _check_length(locator: Locator) -> None:
    """Refuse expressions of more than ``MAX_OPERATORS``."""
    operators = 0
    for line, column, text in locator.tokens:
        is_apart = text in {";", "{", "}", ","}
        operators = 0 if is_apart else operators + bool(_OPERATOR.fullmatch(text))
        if operators > MAX_OPERATORS:
            msg = f"an expression of more than {MAX_OPERATORS:,} operators"
            span, hint = locator.span((line, column)), "split it, or use arrays and loops"
            raise TooDeepError(msg, span=span, hint=hint)
