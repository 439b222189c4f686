"""Kernel by kernel, two versions in turns: what each makes of it, its results, its times."""

from __future__ import annotations

import tempfile
import time
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from .ratios import LEAST_ROUNDS, SLOWER, ratio_of
from .records import BASE, NEW, SIDES, Comparison, Entry, Made, Run
from .session import FailedError
from .versions import CompareError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from .session import Session

SUITES = ("images", "affine", "networks")
#: the suite that is compared only where it is named
FIELD = "field"
#: after so many rounds all arrays move: where they lie changes times as well
_ROUNDS_IN_PLACE = 5
#: differences relative to the largest value that the order of operations explains, by bytes
_TOLERANCE = {2: 1e-2, 4: 1e-4, 8: 1e-10}


@dataclass(frozen=True)
class Options:
    """What is compared, and for how long."""

    suites: tuple[str, ...] = SUITES
    #: patterns of names; all without
    kernels: tuple[str, ...] = ()
    threads: tuple[int, ...] = (1, 2)
    rounds: int = 20
    #: seconds of one version's turn
    turn_s: float = 0.04
    #: seconds for the rounds of one kernel on one number of threads, if there are enough of them
    most_s: float = 30.0
    #: whether the same code is measured, too
    measure_all: bool = False
    #: when to stop, by ``time.monotonic``
    end: float = float("inf")

    def wants(self, kernel: str) -> bool:
        """Whether a kernel was asked for."""
        return not self.kernels or any(fnmatchcase(kernel, p) for p in self.kernels)


def listed(
    sessions: Mapping[str, Session], options: Options
) -> tuple[list[tuple[str, str]], dict[str, tuple[str, ...]]]:
    """Suites and kernels that both have, and those that only one has. Raises ``CompareError``."""
    found: dict[str, list[tuple[str, str]]] = {}
    for side, session in sessions.items():
        try:
            names = session.ask("kernels")
        except FailedError as error:
            message = f"{session.version.label} does not list its kernels: {error}"
            raise CompareError(message) from None
        found[side] = [(suite, name) for suite in options.suites for name in names[suite]]
    every = {name for keys in found.values() for _, name in keys}
    for pattern in options.kernels:
        if not any(fnmatchcase(name, pattern) for name in every):
            message = f"no kernel of {', '.join(options.suites)} is called {pattern!r}"
            raise CompareError(message)
    if not every:
        message = f"no kernels in {', '.join(options.suites)}; networks need onnx"
        raise CompareError(message)
    wanted = {side: [k for k in keys if options.wants(k[1])] for side, keys in found.items()}
    only = {
        side: tuple(key[1] for key in wanted[side] if key not in wanted[other])
        for side, other in ((BASE, NEW), (NEW, BASE))
    }
    return [key for key in wanted[NEW] if key in wanted[BASE]], only


def compare(
    before: Comparison,
    sessions: Mapping[str, Session],
    options: Options,
    *,
    saved: Callable[[Comparison], object],
    report: Callable[[str], object],
) -> tuple[Comparison, int]:
    """What is known when all is done, time is over or an interrupt comes, and how many kernels are
    left then. ``saved`` gets each state on the way.

    Raises ``CompareError`` where a version does not start.
    """
    keys, only = listed(sessions, options)
    known = {s: tuple(dict.fromkeys([*before.only.get(s, ()), *only[s]])) for s in SIDES}
    state = replace(before, only=known)
    try:
        for number, key in enumerate(keys):
            entry = state.entry(*key) or Entry(*key)
            if is_done(entry, options):
                continue
            if time.monotonic() >= options.end:
                break
            report(f"[{number + 1}/{len(keys)}] {key[1]}")
            task = _Task(sessions, options, state.purpose, turned=number % 2 == 1)
            for found in task.entries(entry):
                state = state.with_entry(found)
                saved(state)
    except KeyboardInterrupt:
        report("interrupted")
    return state, sum(not is_done(state.entry(*key), options) for key in keys)


def is_done(entry: Entry | None, options: Options) -> bool:
    """Whether nothing more is to be found out of a kernel."""
    if entry is None:
        return False
    if entry.errors:
        return True
    return all(
        (run := entry.runs.get(threads)) is not None and _is_measured(entry, run, options)
        for threads in options.threads
    )


def _is_measured(entry: Entry, run: Run, options: Options) -> bool:
    if not _is_timed(entry, options):
        return run.same_bits is not None or not entry.same_inputs
    rounds = len(run.turns)
    if rounds < min(LEAST_ROUNDS, options.rounds):
        return False
    # what seems slower has to be so in as many rounds more, on arrays at other places
    more = 2 if ratio_of(run.turns).verdict == SLOWER else 1
    return rounds >= more * options.rounds or run.spent_s >= more * options.most_s


def _is_timed(entry: Entry, options: Options) -> bool:
    return entry.same_inputs and (options.measure_all or not entry.is_same_code)


@dataclass(frozen=True)
class _Task:
    """One kernel's comparison; ``turned`` lets the new version begin."""

    sessions: Mapping[str, Session]
    options: Options
    purpose: str
    turned: bool

    def entries(self, entry: Entry):
        """The entry, as it becomes known; the last one is all."""
        entry, going = self._made(replace(entry, errors={}))
        yield entry
        for threads in self.options.threads if going else ():
            try:
                for run in self._runs(entry, threads):
                    entry = replace(entry, runs={**entry.runs, threads: run})
                yield entry
            except _SideError as failed:
                yield replace(entry, errors={failed.side: failed.told})
                return

    def _order(self, turn: int) -> tuple[str, ...]:
        """A B, then B A."""
        return SIDES[::-1] if (turn + self.turned) % 2 else SIDES

    def _ask(self, side: str, do: str, **arguments: object):
        try:
            return self.sessions[side].ask(do, **arguments)
        except FailedError as error:
            raise _SideError(side, str(error)) from None

    def _made(self, entry: Entry) -> tuple[Entry, bool]:
        """What both make of the program, and whether both made a kernel."""
        made: dict[str, Made] = {}
        errors: dict[str, str] = {}
        try:
            sizes = {}
            if entry.suite != "networks":
                asked = {"kernel": entry.kernel, "purpose": self.purpose}
                sizes = self._ask(NEW, "sizes", **asked)["sizes"]
        except _SideError as failed:
            return replace(entry, errors={failed.side: failed.told}), False
        for side in self._order(0):
            try:
                found = self._ask(
                    side, "prepare", suite=entry.suite, kernel=entry.kernel, sizes=sizes
                )
            except _SideError as failed:
                errors[side] = failed.told
                continue
            made[side] = Made(**{**found, "taken": (tuple(found["taken"]),)})
        now = replace(entry, sizes=sizes, made=made, errors=errors)
        old = entry.made
        if len(made) == len(old) == len(SIDES) and all(made[s].is_like(old[s]) for s in SIDES):
            both = {s: replace(made[s], taken=old[s].taken + made[s].taken) for s in SIDES}
            return replace(now, made=both), not errors
        return replace(now, runs={}), not errors

    def _runs(self, entry: Entry, threads: int):
        """The run, as it becomes known."""
        run = self._checked(entry, threads, entry.runs.get(threads, Run()))
        yield run
        while not _is_measured(entry, run, self.options):
            if time.monotonic() >= self.options.end:
                return
            number = len(run.turns)
            start = time.monotonic()
            if number and number % _ROUNDS_IN_PLACE == 0:
                for side in SIDES:
                    self._ask(side, "renew")
            # others only add to what a call takes: the fastest says most of the code
            times = {
                side: min(
                    self._ask(side, "run", threads=threads, seconds=self.options.turn_s)["times"]
                )
                for side in self._order(number)
            }
            turns = (*run.turns, (times[BASE], times[NEW]))
            run = replace(run, turns=turns, spent_s=run.spent_s + time.monotonic() - start)
            yield run

    def _checked(self, entry: Entry, threads: int, run: Run) -> Run:
        """Whether the results are the same: both are called before anything is timed."""
        found = {side: self._ask(side, "check", threads=threads)["results"] for side in SIDES}
        if not entry.same_inputs:
            return run
        if found[BASE] == found[NEW]:
            return replace(run, same_bits=True, differ=None, rounding=True)
        with tempfile.TemporaryDirectory() as folder:
            paths = {side: Path(folder) / f"{side}.npz" for side in SIDES}
            for side, path in paths.items():
                self._ask(side, "save", path=str(path))
            both = [dict(np.load(paths[side])) for side in SIDES]
        share, largest, rounding = difference(*both)
        return replace(run, same_bits=False, differ=(share, largest), rounding=rounding)


class _SideError(Exception):
    """What one version could not do."""

    def __init__(self, side: str, told: str) -> None:
        super().__init__(told)
        self.side, self.told = side, told


def difference(
    one: Mapping[str, np.ndarray], other: Mapping[str, np.ndarray]
) -> tuple[float, float, bool]:
    """Of two results: the largest share of elements that differ, by how much of the largest
    value at most, and whether rounding explains it. What cannot be compared differs infinitely."""
    if {n: (a.shape, a.dtype) for n, a in one.items()} != {
        n: (a.shape, a.dtype) for n, a in other.items()
    }:
        return 1.0, float("inf"), False
    found = [_difference(array, other[name]) for name, array in one.items()]
    shares, largest, rounding = zip(*found, strict=True)
    return max(shares), max(largest), all(rounding)


def _difference(one: np.ndarray, other: np.ndarray) -> tuple[float, float, bool]:
    left, right = one.astype(np.float64), other.astype(np.float64)
    unlike = ~((left == right) | (np.isnan(left) & np.isnan(right)))
    if not unlike.any():
        return 0.0, 0.0, True  # zeros of other signs, or NaNs of other bits
    share = float(np.mean(unlike))
    if not (np.isfinite(left[unlike]).all() and np.isfinite(right[unlike]).all()):
        return share, float("inf"), False
    scale = float(np.abs(left[np.isfinite(left)]).max(initial=0.0)) or 1.0
    largest = float(np.abs(left[unlike] - right[unlike]).max()) / scale
    is_float = one.dtype.kind == "f"
    return share, largest, is_float and largest <= _TOLERANCE.get(one.itemsize, 0.0)


def parts(text: str) -> Sequence[str]:
    """What commas or spaces separate."""
    return text.replace(",", " ").split()
