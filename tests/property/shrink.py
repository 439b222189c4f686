"""Makes a failing example small: fewer moves, fewer lines, smaller numbers, while it still fails."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import polyopt as po
from polyopt.errors import PolyoptError

from .plans import calls_of
from .trial import AUTO, Failure, check

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from .plans import Call
    from .trial import Example

#: Trials are bounded: what is small enough is found early.
MOST_TRIALS = 150


def shrunk(
    failure: Failure, *, trials: int = MOST_TRIALS, timeout_s: float | None = None
) -> Failure:
    """The smallest failure of the same kind that a greedy search finds."""
    best, left = failure, trials
    progress = True
    while progress:
        progress = False
        for candidate in _smaller(best.example):
            if left == 0:
                return best
            left -= 1
            found = _same_failure(candidate, best.kind, timeout_s)
            if found is not None:
                best, progress = found, True
                break
    return best


def _same_failure(example: Example, kind: str, timeout_s: float | None) -> Failure | None:
    try:
        found = check(example, timeout_s=timeout_s)
    except PolyoptError:
        return None  # no program any more
    except Exception:
        if example.form == "c":
            raise
        return None  # no Python any more
    kinds = {"auto", "move", "refusal"} if kind in {"auto", "move", "refusal"} else {kind}
    return found if found is not None and found.kind in kinds else None


def _smaller(example: Example) -> Iterator[Example]:
    """Examples with something left out, the most first."""
    yield from (replace(example, calls=calls) for calls in _fewer(example))
    lines = example.text.splitlines()
    for length in (12, 8, 6, 5, 4, 3, 2, 1):
        for start in range(len(lines) - length + 1):
            if any(line.strip() for line in lines[start : start + length]):
                rest = [*lines[:start], *lines[start + length :]]
                yield replace(example, text="\n".join(rest) + "\n")
    for name, size in example.sizes.items():
        for smaller in dict.fromkeys((1, size // 2, size - 1)):
            if 1 <= smaller < size:
                yield replace(example, sizes={**example.sizes, name: smaller})


def _fewer(example: Example) -> Iterator[tuple[Call, ...]]:
    calls = example.calls
    if len(calls) == 1 and calls[0].name == AUTO.name:
        written = _moves_of_auto(example)
        if written:
            yield written
        return
    for length in range(len(calls), 0, -1):
        for start in range(len(calls) - length + 1):
            yield (*calls[:start], *calls[start + length :])


def _moves_of_auto(example: Example) -> Sequence[Call]:
    try:
        return calls_of(po.auto(example.scop, **example.calls[0].options))
    except Exception:  # noqa: BLE001 (then the failure is in the search, not in its result)
        return ()
