"""A failing program as a C file that tells how it failed, and is read again."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tests.property.plans import Call

from .generate import Program
from .subjects import Way
from .trial import BUILDS, WRAPS

if TYPE_CHECKING:
    from pathlib import Path

    from .subjects import Failure


@dataclass(frozen=True)
class Example:
    """A program, how it is treated, and the compiler's flags with which it failed."""

    program: Program
    way: Way
    build: tuple[str, ...]
    #: of its arguments
    seed: int

    @property
    def flags(self) -> tuple[str, ...]:
        """The flags of its batch; without any those that most are compiled with."""
        return tuple(f for f in self.build if f not in WRAPS) or BUILDS[0]

    @classmethod
    def of(cls, failure: Failure, seed: int) -> Example:
        """The example of a failure."""
        return cls(failure.program, failure.way, tuple(failure.build.split()), seed)

    def save(self, path: Path, note: str) -> None:
        """Write it as C with a head comment."""
        way = {"form": self.way.form, "options": dict(self.way.options)}
        way["calls"] = [[c.name, c.args, c.options] for c in self.way.calls]
        known: dict[str, Any] = {
            "way": way,
            "build": self.build,
            "seed": self.seed,
            "program": self.program.describe(),
        }
        lines = [*(f"// {line}" for line in note.splitlines()), f"// example: {json.dumps(known)}"]
        path.write_text("\n".join([*lines, "", self.program.text]), encoding="utf-8")

    @classmethod
    def load(cls, path: Path) -> Example:
        """The example of a file that ``save`` wrote."""
        lines = path.read_text(encoding="utf-8").splitlines()
        head = next(line for line in lines if line.startswith("// example: "))
        known = json.loads(head.partition(": ")[2])
        text = "\n".join(line for line in lines if not line.startswith("//")).strip() + "\n"
        calls = tuple(Call(n, tuple(a), _keys(o)) for n, a, o in known["way"]["calls"])
        way = Way(known["way"]["form"], calls, known["way"]["options"])
        return cls(Program.of(text, known["program"]), way, tuple(known["build"]), known["seed"])


def _keys(options: dict[str, Any]) -> dict[str, Any]:
    """JSON has only text as keys: dimensions are numbers again."""
    return {
        name: {int(k) if k.isdigit() else k: v for k, v in value.items()}
        if isinstance(value, dict)
        else value
        for name, value in options.items()
    }
