"""The moves of a plan: their names, and one call as it can be made again."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Move:
    """One call on a plan, as it can be made again."""

    name: str
    args: tuple[Any, ...] = ()
    options: tuple[tuple[str, Any], ...] = ()

    def __str__(self) -> str:
        """``.tile('out', y=64)``."""
        parts = [repr(a) for a in self.args] + [f"{k}={v!r}" for k, v in self.options]
        return f".{self.name}({', '.join(parts)})"


#: moves that only change the order of loops
LOOP_MOVES = frozenset({"tile", "interchange", "reorder", "skew", "unroll_and_jam", "diamond"})
#: moves that change the program, before it is planned
SOURCE_MOVES = frozenset({"separate_filter", "clone_stage", "scatter_updates"})
#: the moves that a saved plan may name
MOVES = LOOP_MOVES | SOURCE_MOVES | {
    "split", "shift", "fuse_loops", "distribute", "fuse", "inline", "store", "pack", "parallelize",
    "vectorize", "unroll", "separate_full_tiles", "register_tile", "reschedule", "delay_updates",
    "split_range", "reassociate", "store_nontemporal",
}  # fmt: skip
