"""One call on a plan, as it can be made again."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from polyopt.transform.schedule.registry import TRANSFORMATIONS


@dataclass(frozen=True)
class Move:
    """One call on a plan, as it can be made again."""

    name: str
    args: tuple[Any, ...] = ()
    options: tuple[tuple[str, Any], ...] = ()

    def __str__(self) -> str:
        """``.tile('out', y=64)``; what is no method of plans as a call of ``replay``."""
        found = TRANSFORMATIONS.get(self.name)
        if found is not None and not found.is_own:
            return f".replay({self.name!r}, {self.args!r}, {dict(self.options)!r})"
        parts = [repr(a) for a in self.args] + [f"{k}={v!r}" for k, v in self.options]
        return f".{self.name}({', '.join(parts)})"
