"""What tells two plans of one program apart: moves, places of producers, and the bill."""

from __future__ import annotations

import difflib
from dataclasses import dataclass
from typing import TYPE_CHECKING

from polyopt.arguments import checks_arguments
from polyopt.codegen.printers.headers import after_notes
from polyopt.codegen.target import target as find_target
from polyopt.errors import InvalidOptionError
from polyopt.explain.choices.alternatives import ANSWER_BUDGET, memory_bytes, shared_iterations
from polyopt.explain.choices.placements import place_of, producers
from polyopt.ir.same import same_scop
from polyopt.isl import budget
from polyopt.oneline import at_sizes, one_line
from polyopt.scheduler.model.cost import cost
from polyopt.scheduler.model.parameters import assumed_sizes
from polyopt.scheduler.model.table import human_bytes
from polyopt.transform.schedule.printer import describe

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from polyopt.codegen.target import Target
    from polyopt.transform.plan import Plan
    from polyopt.transform.schedule.program import ScheduledProgram


@dataclass(frozen=True)
class Difference:
    """How a plan differs from another one of the same program. ``str`` is a text."""

    program: str
    sizes: Mapping[str, int]
    #: moves of the first plan that the second has not, and the other way round
    removed: tuple[str, ...]
    added: tuple[str, ...]
    #: producer -> where the first plan has it and where the second, for those that differ
    places: Mapping[str, tuple[str, str]]
    #: quantity -> value in the first plan and in the second; bytes where the name says so
    bill: Mapping[str, tuple[float, float]]
    #: the two plans
    plans: tuple[Plan, Plan]

    def __repr__(self) -> str:
        """The program, and how much differs."""
        changes = f"{len(self.removed)} moves removed", f"{len(self.added)} added"
        places = f"{len(self.places)} producers elsewhere"
        return one_line(self, at_sizes(self.program, self.sizes), *changes, places)

    def __bool__(self) -> bool:
        """Whether there is any difference."""
        return bool(self.removed or self.added or self.places)

    def as_dict(self) -> dict[str, object]:
        """The difference for JSON."""
        return {
            "program": self.program, "sizes": dict(self.sizes), "removed": list(self.removed),
            "added": list(self.added), "places": {k: list(v) for k, v in self.places.items()},
            "bill": {k: list(v) for k, v in self.bill.items()},
        }  # fmt: skip

    def __str__(self) -> str:
        """Moves with - and +, places, and the bill side by side, within 80 columns."""
        sizes = ", ".join(f"{k}={v}" for k, v in self.sizes.items())
        lines = [f"{self.program}  {sizes}"[:80]]
        lines += [f"- {move}" for move in self.removed] + [f"+ {move}" for move in self.added]
        lines += [f"{name}: {one} -> {other}" for name, (one, other) in self.places.items()]
        lines += [
            f"{name:<20}{one:>18}{other:>18}{ratio:>10}".rstrip()
            for name, one, other, ratio in self.rows()
        ]
        return "\n".join(lines)

    def nest(self) -> str:
        """The printed loop nests as a unified diff; empty where they are the same."""
        return _unified(*map(str, self.plans))

    def code(self) -> str:
        """The C of both as a unified diff; empty where it is the same. Raises what ``prove``
        raises."""
        return _unified(*(after_notes(plan.code()) for plan in self.plans))

    def rows(self) -> list[tuple[str, str, str, str]]:
        """The bill as texts: name, first, second, ratio."""
        return [
            (name, text(name, one), text(name, other), f"{other / one:.3f}" if one else "")
            for name, (one, other) in self.bill.items()
        ]

    def _repr_html_(self) -> str:
        from polyopt.explain.jupyter import difference_html

        return difference_html(self)


def text(name: str, value: float) -> str:
    """A quantity of a bill with its unit: bytes, a ratio, or a whole number."""
    if name in {"memory", "scratch", "bytes moved", "arrays in full"}:
        return human_bytes(value)
    return f"{value:.3f}" if name == "work" else f"{value:,.0f}"


@checks_arguments
def diff(
    one: Plan,
    other: Plan,
    sizes: Mapping[str, int] | None = None,
    *,
    target: str | Target = "native",
) -> Difference:
    """What tells ``other`` apart from ``one``.

    Raises ``InvalidOptionError`` where the two are plans of different programs.
    """
    if one.source is not other.source and not same_scop(one.source, other.source):
        message = f"one plan is for {one.source.name}, the other for {other.source.name}"
        raise InvalidOptionError(message, hint="compare two plans of one program")
    known = assumed_sizes(one.scop, sizes)
    machine = find_target(target) if isinstance(target, str) else target
    removed, added = _moves(one, other)
    with budget(ANSWER_BUDGET, f"the costs of two plans of {one.scop.name}"):
        places = {
            name: (before, after)
            for name in producers(one.source)
            if (before := _where(one.program, name)) != (after := _where(other.program, name))
        }
        bills = [_quantities(plan, known, machine) for plan in (one, other)]
    bill = {name: (value, bills[1][name]) for name, value in bills[0].items()}
    return Difference(one.scop.name, known, removed, added, places, bill, (one, other))


def _unified(one: str, other: str) -> str:
    """A unified diff without names of files."""
    lines = difflib.unified_diff(one.splitlines(), other.splitlines(), "one", "other", lineterm="")
    return "\n".join(lines)


def _moves(one: Plan, other: Plan) -> tuple[tuple[str, ...], tuple[str, ...]]:
    before, after = ([str(move) for move in plan.moves] for plan in (one, other))
    changes = list(difflib.ndiff(before, after))

    def marked(mark: str) -> tuple[str, ...]:
        return tuple(line[2:] for line in changes if line.startswith(f"{mark} "))

    return marked("-"), marked("+")


def _where(program: ScheduledProgram, producer: str) -> str:
    """``sliding, scratch bx[3 rolling][W] per out.y_tile``."""
    place = place_of(program, producer)
    found = [s for s in program.scratches if s.array == producer]
    if not found or place in {"inline", "root"}:
        return place
    return f"{place}, {describe(found[-1])}" + (f" per {found[-1].at}" if found[-1].at else "")


def _quantities(plan: Plan, sizes: Mapping[str, int], machine: Target) -> dict[str, float]:
    bill = cost(plan.program, sizes, machine)
    known: dict[str, Callable[[], float]] = {
        "operations": lambda: bill.operations, "work": lambda: bill.work_repeated,
        "bytes moved": lambda: bill.bytes_moved, "memory": lambda: memory_bytes(plan, bill),
        "scratch": lambda: bill.scratch_bytes, "arrays in full": lambda: bill.intermediate_bytes,
        "parallel tiles": lambda: shared_iterations(plan, bill),
    }  # fmt: skip
    return {name: float(value()) for name, value in known.items()}
