"""Names that a file declares itself, found before it is parsed: headers' are others then."""

from __future__ import annotations

import re
from itertools import pairwise
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

#: a type's name, and what a declaration names behind it
_BEHIND_TYPE = re.compile(
    r"\b(?:char|short|int|long|float|double|signed|unsigned|_Bool|bool|void"
    r"|u?int(?:_fast|_least)?\d+_t|s?size_t|ptrdiff_t|u?int(?:ptr|max)_t)\b"
    r"(?=[\s*]*(?:\b(?:const|restrict|volatile)\b[\s*]*)*\b([A-Za-z_]\w*))"
)
_APART = re.compile(
    r"""^[^\S\n]*\#(?:[^\\\n]|\\\n|\\.)*|"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*'""", re.MULTILINE
)
_TOKEN = re.compile(r"[A-Za-z_]\w*|[\w.]+|\S")
_WORD = re.compile(r"[A-Za-z_]\w*")
#: words that an expression stands behind
_OPENING = re.compile(r"return|else|case|goto|sizeof|do|_Alignof")
#: words that a header's type may stand behind
_QUALIFIER = re.compile(r"typedef|static|extern|const|volatile|restrict|register|inline|__\w+")
#: what stands behind a name that is declared
_BEHIND_NAME = frozenset("[,;=):({")
_ENDS = frozenset("{};")


def declared_names(text: str) -> set[str]:
    """Names that stand where C declares a variable, a function or a type: the headers that have
    them, too, are not those that the program includes.

    Names with two underscores in front are the compiler's: ``__attribute__`` behind a name.
    """
    found = {found.group(1) for found in _BEHIND_TYPE.finditer(text)}
    words = _TOKEN.findall(_APART.sub(" ", text))
    for start, end in _segments(words):
        part = words[start:end]
        found.update(_behind_words(part))
        if _opens_enum(words[max(0, start - 3) : start]):
            found.update(_listed([",", *part]))
        elif _is_declaration(part, words[max(0, start - 2) : start]):
            found.update(_listed(part))
    return {name for name in found if not name.startswith("__")}


def _segments(words: Sequence[str]) -> Iterator[tuple[int, int]]:
    """From where to where statements, declarations, lists in braces and ``for``'s parts go."""
    start = 0
    for position, word in enumerate(words):
        if word in _ENDS or words[max(0, position - 1) : position + 1] == ["for", "("]:
            yield start, position + 1
            start = position + 1
    yield start, len(words)


def _opens_enum(before: Sequence[str]) -> bool:
    return before[-1:] == ["{"] and "enum" in before[:-1]


def _is_declaration(part: Sequence[str], before: Sequence[str]) -> bool:
    """Whether a segment begins with a type: not ``a * b`` of a list or a condition."""
    first, second = (*part, "", "")[:2]
    if not _is_name(first) or _OPENING.fullmatch(first):
        return False
    is_product = "<" in part or ">" in part or (before[-1:] == ["{"] and before[0] != ")")
    return _is_name(second) or (second == "*" and not is_product)


def _is_name(word: str) -> bool:
    return _WORD.fullmatch(word) is not None


def _is_type(word: str) -> bool:
    return _is_name(word) and not _OPENING.fullmatch(word) and not _QUALIFIER.fullmatch(word)


def _behind_words(part: Sequence[str]) -> Iterator[str]:
    """``real x[``, ``struct x {``, ``real (*restrict x)[``."""
    for before, name, after in zip(part, part[1:], part[2:], strict=False):
        if _is_type(before) and _is_name(name) and after in _BEHIND_NAME:
            yield name
    for position, (word, opened) in enumerate(pairwise(part)):
        if opened == "(" and _is_type(word):
            yield from _pointed(part[position + 2 :])


def _pointed(part: Sequence[str]) -> Iterator[str]:
    """``*restrict x)``: the name of a pointer to an array or a function."""
    if part[:1] != ["*"]:
        return
    name, after = next(
        ((one, two) for one, two in pairwise(part)
         if one != "*" and not _QUALIFIER.fullmatch(one)), ("", ""),
    )  # fmt: skip
    if _is_name(name) and after == ")":
        yield name


def _listed(part: Sequence[str]) -> Iterator[str]:
    """The declarators of a declaration: behind the first pointer of its type, and its commas."""
    depth = 0
    awaited, is_value = False, False
    for word in part:
        depth += (word in "([") - (word in ")]")
        if depth == 0 and (word == "," or (word == "*" and not is_value)):
            awaited, is_value = True, False
        elif awaited and _is_name(word) and not _QUALIFIER.fullmatch(word):
            yield word
            awaited = False
        is_value = is_value or word == "="
