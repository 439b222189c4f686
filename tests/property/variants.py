"""The same program written differently: what a text may change without changing what it computes.

Names, the order of independent nests, loops cut in two or into strips, and longer local arrays.
"""

from __future__ import annotations

import random
import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

_DECLARED = re.compile(r"^    \w+ (\w+)((?:\[[^\]]+\])+);$")
_HEADER = re.compile(
    r"^    for \(int (?P<name>\w+) = (?P<low>[^;]+); (?P<test>[^;]+); (?P=name)\+\+\)(?P<rest>.*)$"
)
_WORD = re.compile(r"\b[A-Za-z_]\w*\b")
_WRITTEN = re.compile(r"(?:^|\s)(\w+)(?:\[[^=;]*\])? (?:[-+]?=) ")
_KEPT = frozenset(
    [
        "int",
        "float",
        "double",
        "void",
        "const",
        "restrict",
        "for",
        "if",
        "else",
        "return",
        "include",
        "define",
        "uint8_t",
        "uint16_t",
        "uint32_t",
        "uint64_t",
        "int8_t",
        "int16_t",
        "int64_t",
        "int32_t",
        "math",
        "stdint",
        "h",
        "fminf",
        "fmaxf",
        "fmin",
        "fmax",
        "floor",
        "floorf",
        "fabs",
        "fabsf",
        "f",
    ]
)


def variant(text: str, sizes: Mapping[str, int], seed: int) -> tuple[str, dict[str, int], str]:
    """The program in other words, its sizes under their new names, and what was changed."""
    rng = random.Random(f"variant {seed}")  # noqa: S311
    kinds = [name for name in CHANGES if rng.random() < 0.5] or [rng.choice(list(CHANGES))]
    for name in kinds:
        text = CHANGES[name](text, rng)
    names = {old: f"{old}_n" if "renamed" in kinds else old for old in sizes}
    return text, {names[old]: size for old, size in sizes.items()}, "+".join(kinds)


def _items(text: str) -> tuple[str, list[list[str]], str]:
    """The head of a function, its statements and nests as lists of lines, and its end."""
    head, _, rest = text.partition("\n{\n")
    body, _, tail = rest.rpartition("\n}")
    items: list[list[str]] = []
    for line in body.splitlines():
        if re.match(r"    [^\s}]", line):
            items.append([])
        items[-1].append(line)
    return head + "\n{\n", items, "\n}" + tail


def _joined(parts: tuple[str, list[list[str]], str]) -> str:
    head, items, tail = parts
    return head + "\n".join(line for item in items for line in item) + tail


def _renamed(text: str, rng: random.Random) -> str:
    """Every array, scalar, iterator and size under another name."""
    names = dict.fromkeys(_WORD.findall(re.sub(r"^#.*$", "", text, flags=re.MULTILINE)))
    function = re.search(r"void (\w+)\(", text)
    assert function is not None
    found = [n for n in names if n not in _KEPT and n != function[1]]
    # sizes keep an initial that says they are sizes, and differ from all old names
    other = {n: f"{n}_n" if n[0].isupper() else f"{rng.choice('pqz')}_{n}" for n in found}
    return _WORD.sub(lambda word: other.get(word[0], word[0]), text)


def _padded(text: str, rng: random.Random) -> str:
    """Local arrays with room that nothing uses, before their end only: subscripts stay.

    What the extents said of the sizes is said apart: an array's last element has to be there.
    """
    lines = text.splitlines()
    extents: list[str] = []
    for number, line in enumerate(lines):
        match = _DECLARED.match(line)
        if match:
            extents += re.findall(r"\[([^\]]+)\]", match[2])
            longer = re.sub(r"\]", lambda _: f" + {rng.randint(1, 3)}]", match[2])
            lines[number] = line.replace(match[2], longer)
    if extents:
        known = " && ".join(f"{extent} >= 1" for extent in dict.fromkeys(extents))
        lines.insert(lines.index("{") + 1, f"#pragma polyopt assume({known})")
    return "\n".join(lines) + "\n"


def _reordered(text: str, rng: random.Random) -> str:
    """Neighbouring nests that share no written array, exchanged."""
    head, items, tail = _items(text)
    for at in [*range(len(items) - 1)] * 2:
        one, other = items[at], items[at + 1]
        if rng.random() < 0.7 and _independent(one, other):
            items[at : at + 2] = [other, one]
    return _joined((head, items, tail))


def _independent(one: list[str], other: list[str]) -> bool:
    return not (_written(one) & _words(other) or _written(other) & _words(one))


def _words(item: list[str]) -> set[str]:
    return set(_WORD.findall("\n".join(item)))


def _written(item: list[str]) -> set[str]:
    """Names that an item assigns or declares, loop iterators aside."""
    text = re.sub(r"for \([^)]*\)", "", "\n".join(item))
    declared = [m[1] for line in item if (m := _DECLARED.match(line))]
    return {*_WRITTEN.findall(text), *declared}


def _cut(text: str, rng: random.Random) -> str:
    """A loop cut in two: the first iterations, then the others."""

    def change(header: re.Match[str], item: list[str]) -> list[str]:
        name, low = header["name"], header["low"]
        at = f"{low} + {rng.randint(1, 3)}"
        first = f"    for (int {name} = {low}; {name} < {at} && {header['test']}; {name}++)"
        second = f"    for (int {name} = {at}; {header['test']}; {name}++)"
        return [first + header["rest"], *item[1:], second + header["rest"], *item[1:]]

    return _with_a_loop(text, rng, change)


def _stripped(text: str, rng: random.Random) -> str:
    """A loop in strips of a few iterations, as blocked code is written by hand."""

    def change(header: re.Match[str], item: list[str]) -> list[str]:
        name, size = header["name"], rng.randint(2, 4)
        test = re.sub(rf"\b{name}\b", f"{name}{name}", header["test"])
        outer = f"    for (int {name}{name} = {header['low']}; {test}; {name}{name} += {size})"
        inner = (
            f"        for (int {name} = {name}{name};"
            f" {name} < {name}{name} + {size} && {header['test']}; {name}++)"
        )
        return [outer, inner + header["rest"], *("    " + line for line in item[1:])]

    return _with_a_loop(text, rng, change)


def _with_a_loop(
    text: str, rng: random.Random, change: Callable[[re.Match[str], list[str]], list[str]]
) -> str:
    """The text with one outermost loop that runs upwards rewritten, if there is one."""
    head, items, tail = _items(text)
    found = [(n, m) for n, item in enumerate(items) if (m := _HEADER.match(item[0]))]
    if found:
        number, header = rng.choice(found)
        items[number] = change(header, items[number])
    return _joined((head, items, tail))


CHANGES: dict[str, Callable[[str, random.Random], str]] = {
    "reordered": _reordered,
    "cut": _cut,
    "stripped": _stripped,
    "padded": _padded,
    "renamed": _renamed,
}
