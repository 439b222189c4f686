"""A kind of mutant: a fault by name, at every place of a right value where it can be made."""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


@dataclass(frozen=True)
class Kind:
    """``make`` yields a value with the fault for each place, in an order of its own."""

    layer: str
    name: str
    make: Callable[[Any], Iterator[Any]]


def spread(values: list[Any], most: int, seed: str) -> list[Any]:
    """At most so many of the values: the first, the last, and some that the seed draws."""
    if len(values) <= most:
        return values
    if most == 1:
        return values[:1]
    inner = random.Random(seed).sample(range(1, len(values) - 1), most - 2)  # noqa: S311
    return [values[k] for k in (0, *sorted(inner), len(values) - 1)]
