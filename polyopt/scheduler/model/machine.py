"""Costs of a machine's instructions, caches and threads: what the time model knows of a target.

Cycles of one core unless a name says otherwise. Named targets have typical ones.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from polyopt.codegen.target import Target


@dataclass(frozen=True)
class Costs:
    """Cycles per vector instruction of the target's width, and bytes per cycle of its caches."""

    #: 10^9 cycles per second
    clock: float
    #: a vector load within a line, and what one across two lines takes more; a store
    load: float
    split: float
    store: float
    #: an addition, a multiplication, or both in one
    arithmetic: float
    #: one of numbers, not vectors: several start in a cycle
    scalar: float
    #: until the next addition can use an addition's result
    latency: float
    #: a division of f32 and of f64 vectors, per byte of a vector; a square root takes half more
    divide: float
    #: to load an element from a place of its own, per lane
    gather: float
    #: a math function, a division of integers: per lane
    call: float
    integer_divide: float
    #: to start a loop, and one of vectors: its first and last iterations fill none
    start: float
    vector_start: float
    #: bytes per cycle that one core gets from the second-level cache, the last one, and memory
    bandwidth: tuple[float, float, float]
    #: the same for all cores together, where they share it
    shared: tuple[float, float, float]
    #: how much the parts of a nest overlap: 1 adds them up, a large power is the largest alone
    overlap: float
    #: nanoseconds to start threads and wait for the last
    region: float


_AVX512 = Costs(
    clock=3.7, load=1.0, split=1.0, store=2.0, arithmetic=0.7, scalar=0.25, latency=4.0,
    divide=0.2, gather=1.5, call=30.0, integer_divide=8.0, start=6.0, vector_start=16.0,
    bandwidth=(40.0, 24.0, 12.0), shared=(80.0, 48.0, 12.0), overlap=2.0, region=3000.0,
)  # fmt: skip


def costs_of(target: Target) -> Costs:
    """What is known of a target's instructions."""
    del target
    return _AVX512
