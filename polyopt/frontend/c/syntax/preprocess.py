"""Macros expanded and directives gone, with every line of the program where it was."""

from __future__ import annotations

import io
import os
import re
from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import pcpp
from pcpp.parser import default_lexer

from polyopt.errors import ProgramSyntaxError, TooLargeError, UserError
from polyopt.frontend.c.syntax.constants import constant_integer
from polyopt.frontend.c.syntax.declared_names import declared_names
from polyopt.source import Source, Span

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

#: Limits and constants that the standard headers would give, where the program has none.
_MACROS = {
    "M_PI": "3.14159265358979323846", "M_E": "2.7182818284590452354",
    "M_SQRT2": "1.41421356237309504880", "FLT_MAX": "3.40282347e+38F",
    "FLT_MIN": "1.17549435e-38F", "FLT_EPSILON": "1.19209290e-07F",
    "DBL_MAX": "1.7976931348623157e+308", "DBL_MIN": "2.2250738585072014e-308",
    "DBL_EPSILON": "2.2204460492503131e-16",
    "INT8_MAX": "127", "INT8_MIN": "(-127-1)", "UINT8_MAX": "255", "SCHAR_MAX": "127",
    "UCHAR_MAX": "255", "INT16_MAX": "32767", "INT16_MIN": "(-32767-1)", "UINT16_MAX": "65535",
    "SHRT_MAX": "32767", "SHRT_MIN": "(-32767-1)", "USHRT_MAX": "65535",
    "INT_MAX": "2147483647", "INT_MIN": "(-2147483647-1)", "UINT_MAX": "4294967295U",
    "INT32_MAX": "2147483647", "INT32_MIN": "(-2147483647-1)", "UINT32_MAX": "4294967295U",
    "INT64_MAX": "9223372036854775807L", "INT64_MIN": "(-9223372036854775807L-1)",
    "UINT64_MAX": "18446744073709551615UL",
    "__SIZE_TYPE__": "unsigned long", "__PTRDIFF_TYPE__": "long",
}  # fmt: skip

#: Spellings of compilers that the parser does not know.
_SPELLINGS = {
    "__restrict__": "restrict", "__restrict": "restrict", "__inline__": "inline",
    "__inline": "inline", "__const": "const", "__attribute__(x)": "", "__extension__": "",
    "__volatile__": "volatile", "__volatile": "volatile", "__signed__": "signed",
    "__thread": "", "_Thread_local": "", "_Noreturn": "", "va_arg(ap,kind)": "(*(kind *)(ap))",
}  # fmt: skip

#: tokens that all macros of a program may expand to, those of their arguments and of macros within
#: counted each time: a name that stands for four others of its kind, and so on, has no end
MOST_EXPANDED = 1_000_000
#: of one macro that is looked at for an integer
_MOST_CONSTANT = 256
#: nesting of included files, their number, and the bytes that they have together
MOST_INCLUDES, MOST_FILES, MOST_BYTES = 50, 1_000, 1 << 24

#: instructions that are none, as generated C has them: nothing runs
_NO_INSTRUCTION = re.compile(r'__asm__ volatile \(""(?: ::: "memory")?\);')
_WORD = re.compile(r"[A-Za-z_]\w*")
#: Preprocessing numbers (C11, 6.4.8), integers first: the library's lexer takes ``2.0f`` for four
#: tokens, and then replaces a macro or a parameter ``f`` in it.
_NUMBER = re.compile(
    r"((?:0[xX][0-9a-fA-F]+|\d+)(?:[uU](?:ll|LL|[lL])?|(?:ll|LL|[lL])[uU]?)?(?![\w.]))"
    r"|(\.?\d(?:[eEpP][-+]|[\w.])*)"
)
_BYTE_ORDER_MARK = "\ufeff"
_COMMENT = re.compile(
    r"""//(?:\\\n|[^\n])*|/\*.*?\*/|/\*|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'""", re.DOTALL
)


@dataclass(frozen=True)
class Preprocessed:
    """Program text after preprocessing; its lines carry the numbers of the source's lines."""

    source: Source
    text: str
    #: pragma lines ``number -> text``, macros expanded
    pragmas: Mapping[int, str]
    #: macros as they are at the end of the file: the names in what they stand for
    names: Mapping[str, tuple[str, ...]] = field(default_factory=dict[str, "tuple[str, ...]"])
    #: those that stand for an integer
    integers: Mapping[str, int] = field(default_factory=dict[str, int])

    def integers_in(self, lines: Iterable[int]) -> dict[str, int]:
        """The macros with an integer value that some lines of the source depend on."""
        words = {w for n in lines for w in _WORD.findall(self.source.line(n))}
        waiting, seen = sorted(words & self.names.keys()), set[str]()
        while waiting:
            name = waiting.pop()
            if name not in seen:
                seen.add(name)
                waiting += [inner for inner in self.names[name] if inner in self.names]
        return {name: self.integers[name] for name in sorted(seen) if name in self.integers}


def preprocess(
    source: Source, defines: Mapping[str, str | int], includes: Sequence[str] = ()
) -> Preprocessed:
    """Expand macros, take includes in or drop them, keep pragmas and line numbers.

    Raises ``ProgramSyntaxError`` for a directive that does not make sense, and ``TooLargeError``
    for macros and includes without end.
    """
    engine = _Engine(source)
    plain = _join_lines(_blank_comments(source))
    own = declared_names(plain)
    offered = {name: value for name, value in _MACROS.items() if name not in own}
    spellings = {k: value for k, value in _SPELLINGS.items() if k.partition("(")[0] not in own}
    for name, value in {**spellings, **offered, **defines}.items():
        engine.define(f"{name.replace(' ', '')} {value}")
    engine.temp_path.insert(0, str(Path(source.name).parent))
    for folder in includes:
        engine.add_path(folder)
    engine.parse(plain, None)
    try:
        lines = _collect(engine)
    except UserError:
        raise
    except Exception as error:  # the library stops with all kinds on malformed directives
        msg = "a preprocessor directive does not make sense"
        span = _last_directive(source, engine)
        hint = "complete it, or take it out"
        raise ProgramSyntaxError(msg, span=span, hint=hint) from error
    engine.check()
    pragmas = {n: engine.expand(t) for n, t in lines.items() if t.lstrip().startswith("#pragma")}
    last = max(lines, default=0)
    joined = "\n".join(lines.get(n, "") for n in range(1, last + 1))
    return Preprocessed(source, joined, pragmas, *engine.constants())


def _blank_comments(source: Source) -> str:
    """The text with comments and empty instructions turned to blanks, so that columns stay."""

    def blank(found: re.Match[str]) -> str:
        text = found.group()
        if not text.startswith("/"):  # a string goes on in one line, what follows stays in its own
            return text.replace("\\\n", "") + "\\\n" * text.count("\\\n")
        if text == "/*":
            line = source.text.count("\n", 0, found.start()) + 1
            column = found.start() - source.text.rfind("\n", 0, found.start())
            msg = "this comment does not end"
            raise ProgramSyntaxError(
                msg, span=Span(source, line, column, 2), hint="close it with */"
            )
        return re.sub(r"[^\n]", " ", text)

    text = source.text.replace("\r\n", "\n")
    if text.startswith(_BYTE_ORDER_MARK):
        text = " " + text.removeprefix(_BYTE_ORDER_MARK)
    text = _COMMENT.sub(blank, text)
    return _NO_INSTRUCTION.sub(lambda found: " " * len(found[0]), text)


def _join_lines(text: str) -> str:
    """Drop continuations outside directives: there a new line is as good as a blank."""
    lines = text.split("\n")
    directive = False
    for number, line in enumerate(lines):
        directive = directive or line.lstrip().startswith("#")
        if not line.endswith("\\"):
            directive = False
        elif not directive:
            lines[number] = line[:-1] + " "
    return "\n".join(lines)


def _collect(engine: _Engine) -> dict[int, str]:
    """The output's tokens put back on the lines they came from.

    Tokens of included files, which alone have a file name, go onto the line of the include.
    """
    lines: defaultdict[int, list[str]] = defaultdict(list)
    current = 1
    while (token := engine.token()) is not None:
        if token.source:
            text = token.value.replace("\n", " ")
        else:
            current = max(current, token.lineno)
            text = token.value.split("\n")[0]
        lines[current].append(text)
    return {number: "".join(texts) for number, texts in lines.items()}


class _Engine(pcpp.Preprocessor):
    """The preprocessor: standard headers are empty, mistakes are collected."""

    def __init__(self, source: Source) -> None:
        lexer = default_lexer()
        # expressions are tried in order; each of their groups has a rule's function, and a type
        rules: list[tuple[object, str] | None] = [None, (None, "CPP_INTEGER"), (None, "CPP_FLOAT")]
        lexer.lexre = [(_NUMBER, rules), *lexer.lexre]
        super().__init__(lexer)
        self._source = source
        self._mistakes: list[ProgramSyntaxError] = []
        self.last_line = self._first_include = 1
        # else tokens of a file below the current folder would name it by its relative path
        self.rewrite_paths = []
        self._expanded, self._most = 0, MOST_EXPANDED
        self._depth = self._files = self._bytes = 0

    def expand_macros(
        self, tokens: list[pcpp.Token], expanding_from: list[str] | None = None
    ) -> list[pcpp.Token]:
        """Expand, within what all macros together may come to. Raises ``TooLargeError``."""
        done = super().expand_macros(tokens, expanding_from or [])
        if expanding_from:
            self._expanded += len(done)
        if self._expanded > self._most:
            msg = f"the macros expand to more than {self._most:,} tokens"
            hint = "write the repetition as a loop, or as a function"
            line = self._first_include if self._depth else self.linemacro or self.last_line
            span = _whole(self._source, line)
            raise TooLargeError(msg, span=span, hint=hint)
        return done

    def include(
        self, tokens: list[pcpp.Token], original_line: list[pcpp.Token]
    ) -> Iterator[pcpp.Token]:
        """Take a file in, not within too many others. Raises ``TooLargeError``."""
        self._depth += 1
        if self._depth > MOST_INCLUDES:
            msg = f"files include each other more than {MOST_INCLUDES} deep"
            hint = "does one include itself? guard it: #pragma once"
            raise TooLargeError(msg, span=_whole(self._source, self._first_include), hint=hint)
        if self._depth == 1:
            self._first_include = self.last_line
        yield from super().include(tokens, original_line)
        self._depth -= 1

    def on_file_open(
        self,
        is_system_include: bool,  # noqa: FBT001  (the library's signature)
        includepath: str,
    ) -> io.StringIO:
        """The text of an included file, which has to be a plain one, and not too large.

        Raises ``ProgramSyntaxError``, ``TooLargeError``, or ``OSError`` where there is none.
        """
        del is_system_include
        path = Path(includepath)
        size = path.stat().st_size
        span = _whole(self._source, self._first_include)
        if path.is_dir():
            raise FileNotFoundError(includepath)
        if not path.is_file() and includepath != os.devnull:
            msg = f"the included {includepath!r} is not a plain file"
            raise ProgramSyntaxError(msg, span=span, hint="include files of C declarations")
        self._files += 1
        self._bytes += size
        if self._files > MOST_FILES or self._bytes > MOST_BYTES:
            msg = f"more than {MOST_FILES:,} files or {MOST_BYTES:,} bytes are included"
            hint = "include what the program needs; guard files: #pragma once"
            raise TooLargeError(msg, span=span, hint=hint)
        return io.StringIO(path.read_bytes().decode("utf-8-sig", "surrogateescape"))

    def on_error(self, file: str, line: int, msg: str) -> None:
        """Keep a mistake for later: the library goes on after it."""
        del file
        # of an exception only that there was one
        text, broken, _ = msg.strip().partition(" due to ")
        text = "this condition cannot be evaluated" if broken else f"preprocessor: {text}"
        self._mistake(text, line, "correct the directive")
        self.return_code = 1

    def on_include_not_found(
        self,
        is_malformed: bool,  # noqa: FBT001  (the library's signature)
        is_system_include: bool,  # noqa: FBT001
        curdir: str,
        includepath: str,
    ) -> None:
        """A header of the system is empty; any other that is missing is a mistake."""
        del curdir
        if not is_system_include or is_malformed or not _is_of_system(includepath):
            line = _line_with(self._source, includepath)
            msg = f"cannot find the included file {includepath!r}"
            self._mistake(msg, line, "put it beside the C file, or give its folder: -I DIR")
        raise pcpp.OutputDirective(pcpp.Action.IgnoreAndRemove)

    def on_directive_handle(
        self,
        directive: pcpp.Token,
        toks: list[pcpp.Token],
        ifpassthru: bool,  # noqa: FBT001  (the library's signature)
        precedingtoks: list[pcpp.Token],
    ) -> bool | None:
        """Remember how far the reading got."""
        self.last_line = directive.lineno
        return super().on_directive_handle(directive, toks, ifpassthru, precedingtoks)

    def on_directive_unknown(
        self,
        directive: pcpp.Token,
        toks: list[pcpp.Token],
        ifpassthru: bool,  # noqa: FBT001  (the library's signature)
        precedingtoks: list[pcpp.Token],
    ) -> bool | None:
        """Stop at ``#error``, pass over ``#warning``, leave the rest (pragmas) in the text."""
        del ifpassthru, precedingtoks
        if directive.value == "error":
            text = "".join(token.value for token in toks).strip()
            self._mistake(f"#error: {text}", directive.lineno, "pass defines=... as needed")
        return True if directive.value in {"error", "warning"} else None

    def _mistake(self, message: str, line: int, hint: str) -> None:
        span = _whole(self._source, line)
        self._mistakes.append(ProgramSyntaxError(message, span=span, hint=hint))

    def check(self) -> None:
        """Raise the first mistake, if there is one."""
        if self._mistakes:
            raise self._mistakes[0]

    def constants(self) -> tuple[dict[str, tuple[str, ...]], dict[str, int]]:
        """The names in what each macro stands for, and the integers that some stand for."""
        names: dict[str, tuple[str, ...]] = {}
        integers: dict[str, int] = {}
        for name, macro in self.macros.items():
            if name in _SPELLINGS or name.startswith("__"):
                continue
            text = "".join(token.value for token in macro.value)
            own = macro.arglist or ()  # a parameter hides a macro of its name
            names[name] = tuple(word for word in _WORD.findall(text) if word not in own)
            value = self._integer(name) if macro.arglist is None else None
            if value is not None:
                integers[name] = value
        return names, integers

    def _integer(self, name: str) -> int | None:
        """The integer that a macro stands for, if it is one that is soon found."""
        self._expanded, self._most = 0, _MOST_CONSTANT
        try:
            return constant_integer(self.expand(name))
        except TooLargeError:
            return None

    def expand(self, text: str) -> str:
        """One line with the macros known at the end of the file."""
        lead = text[: len(text) - len(text.lstrip())]
        return lead + "".join(t.value for t in self.expand_macros(self.tokenize(text.lstrip())))


#: headers that every system has, also one whose folders are elsewhere
_STANDARD = frozenset(
    [
        "assert",
        "complex",
        "ctype",
        "errno",
        "fenv",
        "float",
        "inttypes",
        "iso646",
        "limits",
        "locale",
        "malloc",
        "math",
        "memory",
        "omp",
        "pthread",
        "setjmp",
        "signal",
        "stdalign",
        "stdarg",
        "stdatomic",
        "stdbool",
        "stddef",
        "stdint",
        "stdio",
        "stdlib",
        "stdnoreturn",
        "string",
        "strings",
        "tgmath",
        "threads",
        "time",
        "uchar",
        "unistd",
        "wchar",
        "wctype",
        "sys/time",
        "sys/types",
        "sys/resource",
        "sys/stat",
        "sys/mman",
        "fcntl",
        "sched",
        "alloca",
        "immintrin",
        "xmmintrin",
        "emmintrin",
        "x86intrin",
        "arm_neon",
    ]
)
_SYSTEM = ("/usr/include", "/usr/local/include", "/opt/homebrew/include")


def _is_of_system(name: str) -> bool:
    """Whether an included file is one of the system's: it only says what libraries offer."""
    standard = name.removesuffix(".h") in _STANDARD
    return standard or any(Path(folder, name).is_file() for folder in _SYSTEM)


def _whole(source: Source, line: int) -> Span:
    text = source.line(line)
    indent = len(text) - len(text.lstrip())
    return Span(source, line, indent + 1, max(1, len(text.strip())))


def _line_with(source: Source, text: str) -> int:
    lines = source.text.splitlines()
    found = (n for n, line in enumerate(lines, 1) if text in line and "include" in line)
    return next(found, 1)


def _last_directive(source: Source, engine: _Engine) -> Span:
    """The directive after the last one that made sense."""
    lines = source.text.splitlines()
    for number in range(engine.last_line, len(lines) + 1):
        if re.match(r"\s*#\s*(ifn?def|if|elif|define|include|undef)?\s*$", lines[number - 1]):
            return _whole(source, number)
    return _whole(source, engine.last_line)
