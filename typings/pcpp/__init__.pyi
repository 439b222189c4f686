# What polyopt uses of pcpp, typed.
from collections.abc import Iterator
from enum import Enum
from io import StringIO

from pcpp.parser import Lexer

class Token:
    type: str
    value: str
    lineno: int
    source: str | None

class Action(Enum):
    IgnoreAndPassThrough = 0
    IgnoreAndRemove = 1

class OutputDirective(Exception):  # noqa: N818
    def __init__(self, action: Action) -> None: ...

class Macro:
    value: list[Token]
    arglist: list[str] | None

class Preprocessor:
    macros: dict[str, Macro]
    return_code: int
    line_directive: str | None
    temp_path: list[str]
    linemacro: int
    def __init__(self, lexer: Lexer | None = None) -> None: ...
    def define(self, tokens: str) -> None: ...
    def add_path(self, path: str) -> None: ...
    def parse(self, input: str, source: str | None = None) -> None: ...
    def token(self) -> Token | None: ...
    def tokenize(self, text: str) -> list[Token]: ...
    def expand_macros(self, tokens: list[Token], expanding_from: list[str] = []) -> list[Token]: ...
    def include(self, tokens: list[Token], original_line: list[Token]) -> Iterator[Token]: ...
    def on_file_open(self, is_system_include: bool, includepath: str) -> StringIO: ...
    def on_error(self, file: str, line: int, msg: str) -> None: ...
    def on_include_not_found(
        self, is_malformed: bool, is_system_include: bool, curdir: str, includepath: str
    ) -> str | None: ...
    def on_directive_unknown(
        self, directive: Token, toks: list[Token], ifpassthru: bool, precedingtoks: list[Token]
    ) -> bool | None: ...
    def on_directive_handle(
        self, directive: Token, toks: list[Token], ifpassthru: bool, precedingtoks: list[Token]
    ) -> bool | None: ...
