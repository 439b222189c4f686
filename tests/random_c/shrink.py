"""Makes a failing program small: fewer lines, arguments and words, while it fails in the same way."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from .oracle import NotCompiledError
from .trial import BUILDS, WRAPS, check

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .generate import Program
    from .subjects import Failure

MOST_TRIALS = 250
_WORDS = re.compile(
    r"\s*(?:[A-Za-z_]\w*|[0-9][\w.]*|\.[0-9]\w*|<<=|>>=|[-+*/%&|^=!<>]=|&&|\|\||<<|>>|\+\+|--|'.'|.)"
)
#: for a call of a smaller program: most that go on have no end
_SECONDS = 2
#: failures that are told apart by their text's first words alone
_SAME = 24


def shrunk(failure: Failure, seed: int, *, trials: int = MOST_TRIALS) -> Failure:
    """The smallest failure of the same kind that a greedy search finds."""
    best, left, progress = failure, trials, True
    while progress and left > 0:
        progress = False
        for candidate in _smaller(best.program):
            left -= 1
            if left <= 0:
                break
            found = _fails(candidate, best, seed)
            if found is not None:
                best, progress = found, True
                break
    return best


def _fails(program: Program, like: Failure, seed: int) -> Failure | None:
    build = tuple(f for f in like.build.split() if f not in WRAPS) or BUILDS[0]
    try:
        found = check(program, like.way, seed=seed, build=build, seconds=_SECONDS)
    except (NotCompiledError, ValueError):
        return None
    if found is None or found.kind != like.kind:
        return None
    alike = like.kind in {"wrong", "slow", "compiler"} or found.text[:_SAME] == like.text[:_SAME]
    return found if alike else None


def _smaller(program: Program) -> Iterator[Program]:
    lines = program.text.splitlines()
    for length in (16, 8, 4, 3, 2, 1):
        for start in range(len(lines) - length + 1):
            rest = [*lines[:start], *lines[start + length :]]
            if _balanced(rest) and f"void {program.name}(" in "\n".join(rest):
                yield replace(program, text="\n".join(rest) + "\n")
    yield from _fewer_arguments(program)
    at = next((n for n, line in enumerate(lines) if line.startswith(f"void {program.name}(")), 0)
    for number, line in enumerate(lines):
        if number != at and not line.startswith("#"):
            for shorter in _shorter(line):
                yield replace(
                    program, text="\n".join([*lines[:number], shorter, *lines[number + 1 :]]) + "\n"
                )


def _balanced(lines: list[str]) -> bool:
    text = "\n".join(lines)
    return text.count("{") == text.count("}") and ("#pragma scop" in text) == (
        "#pragma endscop" in text
    )


def _fewer_arguments(program: Program) -> Iterator[Program]:
    head, begin, rest = program.text.partition(f"void {program.name}(")
    inside, end, tail = rest.partition(")\n{")
    texts = inside.split(", ")
    if len(texts) != len(program.parameters):
        return
    for i, p in enumerate(program.parameters):
        others = (*program.parameters[:i], *program.parameters[i + 1 :])
        if re.search(rf"\b{re.escape(p.name)}\b", head + tail) or any(
            p.name in str(o) for o in others
        ):
            continue
        text = head + begin + ", ".join([*texts[:i], *texts[i + 1 :]]) + end + tail
        yield replace(program, text=text, parameters=others)


def _shorter(line: str) -> Iterator[str]:
    words = _WORDS.findall(line)
    for length in (24, 12, 8, 6, 5, 4, 3, 2, 1):
        for start in range(len(words) - length + 1):
            gone = "".join(words[start : start + length])
            if gone.count("(") == gone.count(")") and gone.count("[") == gone.count("]"):
                yield "".join([*words[:start], *words[start + length :]])
                if length > 3 and gone.strip()[:1] == "(":
                    yield "".join([*words[:start], " 1", *words[start + length :]])
