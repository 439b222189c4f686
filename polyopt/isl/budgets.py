"""isl for one thread at a time, and for so many operations.

isl counts its allocations as operations. It stops at a given number of them, and tells no one how
many there were: that is found by asking whether they are below a bound.

An interrupt may come at any step of Python, also at the first of an ``__exit__``, which then does
nothing. Who entered a bound is kept with it, therefore: a bound whose function no longer runs was
left that way, and whoever comes next to ``exclusive`` or to a bound takes it away.
"""

from __future__ import annotations

import os
import threading
from contextlib import contextmanager
from functools import cached_property
from inspect import currentframe
from typing import TYPE_CHECKING, TypeVar, overload

from polyopt.errors import InternalError, InvalidOptionError, NotDecidedError, PolyoptError
from polyopt.isl.api import IslError, Set, context, integer_val

if TYPE_CHECKING:
    from collections.abc import Generator
    from types import FrameType
    from typing import Self

T = TypeVar("T")

#: isl's context, and its count of operations, are for one thread at a time
_ONE = threading.RLock()
# a process is forked between two uses: the child's copy is whole, and free
os.register_at_fork(before=_ONE.acquire, after_in_parent=_ONE.release, after_in_child=_ONE.release)


@contextmanager
def exclusive() -> Generator[None]:
    """Let no other thread use isl meanwhile; the same thread may ask again."""
    with _ONE:
        _forget()
        yield


class exclusive_property(cached_property[T]):  # noqa: N801 (a decorator, as its base is)
    """A cached property that works with isl: who makes it has isl first.

    Up to Python 3.11 ``cached_property`` has a lock too, one for all objects of a class: a thread
    that has isl and one that makes the property would wait for each other.
    """

    @overload
    def __get__(self, instance: None, owner: type | None = None) -> Self: ...

    @overload
    def __get__(self, instance: object, owner: type | None = None) -> T: ...

    def __get__(self, instance: object | None, owner: type | None = None) -> Self | T:
        """What it is of that instance; the property itself of none."""
        if instance is None:
            return self
        with exclusive():
            return super().__get__(instance, owner)


class OperationLimit:
    """isl operations that some work may take, also in several parts: ``with`` it each time.

    What budgets within take counts, and none of them extends it. Raises ``NotDecidedError`` where
    it is spent, the same on every machine. Not for generators: they are left while they wait.
    """

    def __init__(self, operations: int, what: str, *, whole: bool = True) -> None:
        """``InvalidOptionError`` below 1; not ``whole``: at a stretch, see ``stretches``."""
        if operations < 1:
            msg = f"{what}: a budget of {operations} isl operations; it has to be 1 or more"
            raise InvalidOptionError(msg)
        self.operations = operations
        self.what = what
        self.whole = whole
        self.left = operations

    @property
    def spent(self) -> bool:
        """Whether nothing is left of it."""
        return self.left <= 0

    def __enter__(self) -> Self:
        """Count from here on."""
        _ONE.acquire()
        _forget()
        _charge()
        here = currentframe()
        assert here is not None
        assert here.f_back is not None
        _bounds.append((self, here.f_back))
        _allow()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: object
    ) -> None:
        """Go on with what is around; ``NotDecidedError`` where isl stopped."""
        del kind, trace
        try:
            told = self._told(error) if isinstance(error, Exception) else None
        finally:
            _charge()
            _bounds.pop()
            if self.whole:
                _begin_stretches()
            _allow()
            _ONE.release()
        if told is not None:
            raise told from (error if isinstance(told, InternalError) else None)

    def _told(self, error: Exception) -> PolyoptError | None:
        if isinstance(error, PolyoptError) and not isinstance(error, InternalError):
            return None
        if isinstance(error, MemoryError) or "allocation failure" in str(error):
            msg = f"{self.what}: not decided within the memory there is"
            hint = "free some, raise the process's limit, or fix some sizes"
            return NotDecidedError(msg, hint=hint)
        # of what fails in a callback isl loses the reason, and of a text that it lacks islpy
        if "maximal number of operations" in str(error) or _is_spent():
            least = _least()
            msg = f"{least.what}: not decided within {least.operations:,} isl operations"
            return NotDecidedError(msg, hint="raise the budget, or fix some sizes")
        if isinstance(error, IslError):
            return InternalError(f"isl failed in {self.what}: {error}")
        return None


def budget(operations: int, what: str) -> OperationLimit:
    """Stop ``what`` after that many isl operations, the same on every machine.

    An inner budget never extends an outer one, and what it takes is taken from the outer one.
    Raises ``NotDecidedError`` when it is spent, ``InvalidOptionError`` for one below 1.
    """
    return OperationLimit(operations, what)


def stretches(operations: int, what: str) -> OperationLimit:
    """Stop ``what`` where isl takes more operations at a stretch, between two budgets within.

    ``budget`` bounds all of a computation; this bounds what of a search has no budget of its own,
    and leaves the budgets of its steps as they are. Raises as ``budget`` does.
    """
    return OperationLimit(operations, what, whole=False)


#: what bounds the work that runs, the outermost first, each with the function that entered it
_bounds: list[tuple[OperationLimit, FrameType]] = []


def _forget() -> None:
    """Take away the bounds of functions that no longer run; the lock is this thread's."""
    if not _bounds or _runs(_bounds[-1][1]):
        return
    while _bounds and not _runs(_bounds[-1][1]):
        _bounds.pop()
        _ONE.release()
    _allow()


def _runs(function: FrameType) -> bool:
    frame = currentframe()
    while frame is not None and frame is not function:
        frame = frame.f_back
    return frame is not None


def _active() -> list[OperationLimit]:
    """What bounds the work that runs: all budgets, and the stretches that no budget interrupts."""
    bounds = [bound for bound, _ in _bounds]
    last = next((i for i, b in reversed([*enumerate(bounds)]) if b.whole), -1)
    return [b for i, b in enumerate(bounds) if b.whole or i > last]


def _least() -> OperationLimit:
    """What bounds the work that runs first."""
    return min(_active(), key=lambda b: b.left)


def _begin_stretches() -> None:
    """The stretches that a budget has interrupted."""
    for bound in _active():
        if not bound.whole:
            bound.left = bound.operations


def _charge() -> None:
    """Take from what bounds the work what isl has taken since the last time."""
    used = _used() if _bounds else 0
    for bound in _active():
        bound.left -= used


def _allow() -> None:
    """Count from here on, up to what is left of the bounds; without end where there are none."""
    left = _least().left if _bounds else 0
    context().set_max_operations(max(1, left) if _bounds else 0)
    context().reset_operations()
    if _bounds and left < 1:
        _is_below(1)  # the one that is allowed at least


def _used() -> int:
    """isl operations since the last reset: isl only tells whether they are below a bound."""
    limit = context().get_max_operations()
    low, high = 0, 1
    while high <= limit and not _is_below(high):
        low, high = high, 4 * high
    high, asked = min(high, limit + 1), int(high <= limit)
    while high - low > 1:
        middle = (low + high) // 2
        if _is_below(middle + asked):
            high = middle
            asked += 1
        else:
            low = middle
    return low


def _is_below(limit: int) -> bool:
    """Whether fewer operations than that were counted; one more is where they were."""
    context().set_max_operations(limit)
    try:
        integer_val(1)
    except IslError:
        return False
    return True


def _is_spent() -> bool:
    """Whether isl does nothing any more."""
    try:
        Set.read_from_str(context(), "{ : }")
    except IslError:
        return True
    return False
