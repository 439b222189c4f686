"""The numbers that the scheduler has besides measured costs: constants of its modules."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import polyopt.scheduler

if TYPE_CHECKING:
    from collections.abc import Iterator

FOLDER = Path(polyopt.scheduler.__file__).parent
#: costs of machines are measured, and how tables are printed decides nothing
_OTHERS = {"model/machine.py", "model/table.py"}


@dataclass(frozen=True)
class Number:
    """A constant of a module: its name, value, file, and the comment above it."""

    name: str
    value: str
    file: str
    said: str


def numbers_of_scheduler() -> Iterator[Number]:
    """All constants that hold numbers, by file."""
    for path in sorted(FOLDER.rglob("*.py")):
        file = path.relative_to(FOLDER).as_posix()
        if file in _OTHERS:
            continue
        lines = path.read_text(encoding="utf-8").splitlines()
        for node in ast.parse("\n".join(lines)).body:
            if isinstance(node, ast.Assign) and _has_number(node.value):
                names = ", ".join(n.id for t in node.targets for n in ast.walk(t)
                                  if isinstance(n, ast.Name))  # fmt: skip
                if names.upper() == names:
                    said = " ".join(_comment(lines, node.lineno - 1))
                    yield Number(names, ast.unparse(node.value), file, said.replace("|", ""))


def _has_number(value: ast.expr) -> bool:
    return any(
        isinstance(n, ast.Constant) and isinstance(n.value, (int, float)) and n.value not in {0, 1}
        for n in ast.walk(value)
    )


def _comment(lines: list[str], line: int) -> list[str]:
    """The lines of comment right above a line."""
    first = line
    while first and lines[first - 1].startswith("#:"):
        first -= 1
    return [text.removeprefix("#:").strip() for text in lines[first:line]]
