"""The plans of a session, one after the other: undo is a step back, and nothing is lost by it."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

    from polyopt.transform.plan import Plan


@dataclass(frozen=True, eq=False)
class Entry:
    """A proven plan, the move that led to it, and the medians of its measured times."""

    plan: Plan
    label: str
    #: what the browser shows of it
    data: Mapping[str, Any] = field(repr=False)
    #: milliseconds, one for each measurement
    times: tuple[float, ...] = ()


@dataclass(frozen=True, eq=False)
class History:
    """Entries in order, and which of them is shown."""

    entries: tuple[Entry, ...]
    at: int = 0

    @property
    def shown(self) -> Entry:
        """The entry that is shown."""
        return self.entries[self.at]

    def then(self, entry: Entry) -> History:
        """With another plan after the one shown; those that were undone are dropped."""
        kept = self.entries[: self.at + 1]
        return History((*kept, entry), len(kept))

    def moved(self, at: int) -> History:
        """With another entry shown: the nearest there is."""
        return replace(self, at=min(max(at, 0), len(self.entries) - 1))

    def timed(self, ms: float) -> History:
        """With a measured time of the plan that is shown."""
        entries = list(self.entries)
        entries[self.at] = replace(self.shown, times=(*self.shown.times, ms))
        return replace(self, entries=tuple(entries))
