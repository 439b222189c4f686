"""Recorded timings: plans by their moves, and what a call of each took on one kind of machine."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from polyopt.codegen.target import target
from polyopt.library import load_scop
from polyopt.transform.plan import Plan

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

#: timings by machine: an AMD EPYC with two cores and AVX-512, GCC 12.2
FILE = Path(__file__).parent / "timings" / "epyc-avx512.jsonl"
EPYC = replace(target("avx512"), l1_bytes=32 << 10, l2_bytes=1 << 20, last_bytes=32 << 20, cores=2)


@dataclass(frozen=True)
class Timing:
    """One plan of a kernel at its sizes for benchmarks."""

    kernel: str
    sizes: Mapping[str, int]
    #: what the plan is: "source", "auto", "sweep 8 x 64", ...
    name: str
    #: name, arguments and options of each move
    moves: Sequence[tuple[str, Sequence[Any], Mapping[str, Any]]]
    #: threads -> milliseconds of a call, the median
    ms: Mapping[int, float]
    #: threads -> width of the middle half over the median
    spread: Mapping[int, float]

    def plan(self) -> Plan:
        """The plan, made again; not proven, since what was recorded was."""
        plan = replace(Plan(load_scop(self.kernel)), checked=False)
        for name, args, options in self.moves:
            plan = plan.replay(name, args, options)
        return plan

    def as_line(self) -> str:
        """One line of JSON."""
        return json.dumps({
            "kernel": self.kernel, "sizes": dict(self.sizes), "plan": self.name,
            "ms": {str(n): round(v, 5) for n, v in self.ms.items()},
            "spread": {str(n): round(v, 3) for n, v in self.spread.items()},
            "moves": list(self.moves),
        })  # fmt: skip

    @classmethod
    def of_line(cls, line: str) -> Timing:
        """What ``as_line`` wrote."""
        found: dict[str, Any] = json.loads(line)
        ms, spread = ({int(n): v for n, v in found[key].items()} for key in ("ms", "spread"))
        return cls(found["kernel"], found["sizes"], found["plan"], found["moves"], ms, spread)


def recorded(path: Path) -> Iterator[Timing]:
    """The timings of a file, in their order."""
    with path.open(encoding="utf-8") as file:
        yield from map(Timing.of_line, file)
