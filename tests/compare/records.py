"""What a comparison found, as values, and as JSON that a later run goes on with."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING, Any

from .versions import CompareError

if TYPE_CHECKING:
    from pathlib import Path

_FORMAT = 1
SIDES = BASE, NEW = "base", "new"
#: what of two results is equal
SAME_C, SAME_CODE, OTHER_FLAGS, OTHER_C, OTHER_PROGRAM = (
    "same C", "same code", "other flags", "other C", "other program",
)  # fmt: skip


@dataclass(frozen=True)
class Made:
    """What one version made of a program: digests, and the seconds of each time it did so."""

    program: str
    inputs: str
    source: str
    flags: str
    library: str
    #: seconds for the plan and for all by the clock; of processor time, ours and the compiler's
    taken: tuple[tuple[float, float, float, float], ...] = ()

    def is_like(self, other: Made) -> bool:
        """Whether all but the seconds is the same."""
        return replace(self, taken=()) == replace(other, taken=())


@dataclass(frozen=True)
class Run:
    """One number of threads: the results, and seconds of a call of base and new by rounds."""

    #: whether the results have the same bits; ``None`` where they were not compared
    same_bits: bool | None = None
    #: where they have not: the share of elements that differ, by how much of the largest at most
    differ: tuple[float, float] | None = None
    #: whether rounding explains that
    rounding: bool = True
    turns: tuple[tuple[float, float], ...] = ()
    #: seconds that measuring took
    spent_s: float = 0.0


@dataclass(frozen=True)
class Entry:
    """One kernel."""

    suite: str
    kernel: str
    sizes: dict[str, int] = field(default_factory=dict)
    made: dict[str, Made] = field(default_factory=dict)
    #: by side, what went wrong
    errors: dict[str, str] = field(default_factory=dict)
    #: by number of threads
    runs: dict[int, Run] = field(default_factory=dict)

    @property
    def key(self) -> tuple[str, str]:
        """Suite and kernel."""
        return self.suite, self.kernel

    @property
    def code(self) -> str:
        """What of both versions' code is the same; ``""`` where there are not both."""
        if len(self.made) < len(SIDES):
            return ""
        one, other = self.made[BASE], self.made[NEW]
        if one.program != other.program:
            return OTHER_PROGRAM
        same_text = one.source == other.source
        if one.library == other.library or (same_text and one.flags == other.flags):
            return SAME_C if same_text else SAME_CODE
        return OTHER_FLAGS if same_text else OTHER_C

    @property
    def is_same_code(self) -> bool:
        """Whether the same machine code runs: a ratio of times is noise."""
        return self.code in {SAME_C, SAME_CODE}

    @property
    def same_inputs(self) -> bool:
        """Whether both see the same data."""
        return len({made.inputs for made in self.made.values()}) == 1


@dataclass(frozen=True)
class Comparison:
    """Two versions on one machine, and what was found so far."""

    #: by side: label and digest
    versions: dict[str, dict[str, str]]
    #: cpu, cores, compiler
    machine: dict[str, Any]
    #: which of a kernel's sizes
    purpose: str
    entries: tuple[Entry, ...] = ()
    #: kernels that only one version has, by side
    only: dict[str, tuple[str, ...]] = field(default_factory=dict)

    def entry(self, suite: str, kernel: str) -> Entry | None:
        """What is known of a kernel."""
        return next((e for e in self.entries if e.key == (suite, kernel)), None)

    def with_entry(self, entry: Entry) -> Comparison:
        """The same with what is known of a kernel now, in its old place."""
        if self.entry(*entry.key) is None:
            return replace(self, entries=(*self.entries, entry))
        return replace(
            self, entries=tuple(entry if e.key == entry.key else e for e in self.entries)
        )

    @property
    def about(self) -> dict[str, Any]:
        """What has to be the same for two comparisons to be one."""
        digests = {side: version["digest"] for side, version in self.versions.items()}
        return {**digests, **self.machine, "sizes": self.purpose}


def merged(one: Comparison, other: Comparison) -> Comparison:
    """What both found, rounds together. Raises ``CompareError`` where they are about others."""
    unlike = [n for n, value in one.about.items() if other.about.get(n) != value]
    if unlike:
        message = f"results of other comparisons (other {', '.join(unlike)}) do not go together"
        raise CompareError(message)
    found = one
    for entry in other.entries:
        before = found.entry(*entry.key)
        found = found.with_entry(entry if before is None else _joined(before, entry))
    only = {
        side: tuple(dict.fromkeys([*one.only.get(side, ()), *other.only.get(side, ())]))
        for side in SIDES
    }
    return replace(found, only=only)


def _joined(one: Entry, other: Entry) -> Entry:
    """Rounds of both, where both are of the same code; else the later."""
    both = set(one.made) & set(other.made)
    if both != set(SIDES) or not all(one.made[s].is_like(other.made[s]) for s in SIDES):
        return other if other.made else one
    made = {s: replace(one.made[s], taken=one.made[s].taken + other.made[s].taken) for s in SIDES}
    runs = dict(one.runs)
    for threads, run in other.runs.items():
        before = runs.get(threads, Run())
        runs[threads] = replace(
            run, turns=before.turns + run.turns, spent_s=before.spent_s + run.spent_s
        )
    return replace(other, made=made, runs=runs)


# -- JSON ---------------------------------------------------------------------------------------


def written(comparison: Comparison) -> str:
    """The text of a file."""
    return json.dumps({"format": _FORMAT, **asdict(comparison)}, indent=1) + "\n"


def save(comparison: Comparison, path: Path) -> None:
    """Write the file: it is there as it was, or as it will be."""
    path.parent.mkdir(parents=True, exist_ok=True)
    new = path.with_name(f".{path.name}.new")
    new.write_text(written(comparison), encoding="utf-8")
    new.replace(path)


def load(path: Path) -> Comparison:
    """What a file holds. Raises ``CompareError`` for what is none."""
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
        if found.pop("format") == _FORMAT:
            return _comparison(found)
    except OSError as error:
        message = f"{path} cannot be read: {error.strerror}"
        raise CompareError(message) from None
    except (ValueError, KeyError, TypeError, AttributeError):
        pass
    message = f"{path} holds no comparison of this form"
    raise CompareError(message)


def _comparison(found: dict[str, Any]) -> Comparison:
    entries = tuple(_entry(e) for e in found.pop("entries"))
    only = {side: tuple(names) for side, names in found.pop("only").items()}
    return Comparison(**found, entries=entries, only=only)


def _entry(found: dict[str, Any]) -> Entry:
    made = {side: _made(m) for side, m in found.pop("made").items()}
    runs = {int(threads): _run(r) for threads, r in found.pop("runs").items()}
    return Entry(**found, made=made, runs=runs)


def _made(found: dict[str, Any]) -> Made:
    return Made(**{**found, "taken": tuple(tuple(t) for t in found["taken"])})


def _run(found: dict[str, Any]) -> Run:
    differ = found["differ"] and tuple(found["differ"])
    return Run(**{**found, "differ": differ, "turns": tuple(tuple(t) for t in found["turns"])})
