"""What else could be done with a producer: each place with its storage, work, traffic, threads."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from polyopt.analysis.sets.count import about, guessed
from polyopt.arguments import checks_arguments
from polyopt.codegen.target import target as find_target
from polyopt.errors import InvalidOptionError, NotDecidedError, PolyoptError, UserError
from polyopt.explain.choices.placements import PLACES, lay_out, layout_of, place_of, producers
from polyopt.explain.remarks.pairs import pairs_of
from polyopt.isl import budget
from polyopt.oneline import at_sizes, one_line
from polyopt.scheduler.model.cost import Cost, cost
from polyopt.scheduler.model.instances import evaluated, rolled
from polyopt.scheduler.model.parameters import assumed_sizes
from polyopt.scheduler.model.table import human_bytes
from polyopt.transform.schedule.query import unknown
from polyopt.transform.schedule.remark import Remark
from polyopt.transform.schedule.tree import PlanLoop, loops_of, prefix_map

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from polyopt.codegen.target import Target
    from polyopt.explain.choices.placements import Laid, Layout
    from polyopt.transform.plan import Plan
    from polyopt.transform.schedule.program import ScheduledProgram

#: isl operations of an answer as a whole: a minute or two
ANSWER_BUDGET = 100_000_000
#: the places that a table of alternatives shows; ``element`` is for the trade-off
SHOWN = ("inline", "sliding", "scratch", "root")
#: a remark's move -> place, where the words differ
_MOVES = {"inline": "inline", "root": "root"}


@dataclass(frozen=True, eq=False)
class Alternative:
    """A producer in one place: the plan and its bill, or why there is none."""

    producer: str
    place: str
    #: whether the plan that was asked has the producer here
    chosen: bool
    plan: Plan | None = None
    bill: Cost | None = None
    #: why the place is refused, with witnesses
    refusal: PolyoptError | None = None
    #: other producers that moved along: ``{"Ix": "scratch"}``
    along: Mapping[str, str] | None = None

    def __repr__(self) -> str:
        """The producer and its place."""
        return one_line(self, self.producer, self.place, "chosen" * self.chosen,
                        "refused" * (self.refusal is not None))  # fmt: skip

    @property
    def numbers(self) -> dict[str, float]:
        """``work`` over the source's, bytes of ``memory`` and ``bytes moved``, ``parallel`` tiles.

        Empty where the place is refused.
        """
        if self.plan is None or self.bill is None:
            return {}
        return {
            "computed": self.bill.repeated.get(self.producer, 0.0),
            "work": self.bill.work_repeated, "memory bytes": memory_bytes(self.plan, self.bill),
            "scratch bytes": sum(s.bytes for s in self.bill.scratch if s.array == self.producer),
            "bytes moved": self.bill.bytes_moved,
            "parallel tiles": shared_iterations(self.plan, self.bill),
        }  # fmt: skip


@dataclass(frozen=True, eq=False)
class Alternatives:
    """The places of one producer, all else as near to the plan as can be. ``str`` is a table."""

    program: str
    sizes: Mapping[str, int]
    producer: str
    rows: tuple[Alternative, ...]

    def __repr__(self) -> str:
        """The producer and its places."""
        places = ", ".join(row.place + "*" * row.chosen for row in self.rows)
        return one_line(self, f"{self.producer} in {at_sizes(self.program, self.sizes)}", places)

    def __iter__(self) -> Iterator[Alternative]:
        """The alternatives, from the least memory to the most."""
        return iter(self.rows)

    def __getitem__(self, place: str) -> Alternative:
        """The alternative of a place. Raises ``UnknownNameError``."""
        for row in self.rows:
            if row.place == place:
                return row
        raise unknown("place", place, [row.place for row in self.rows])

    def as_dict(self) -> dict[str, object]:
        """The table for JSON."""
        listed = [
            {"place": r.place, "chosen": r.chosen, **r.numbers, "estimated": guessed(r.numbers),
             "refused": r.refusal.diagnostic.message if r.refusal else None,
             "code": r.refusal.code if r.refusal else "", "along": dict(r.along or {})}
            for r in self.rows
        ]  # fmt: skip
        return {"program": self.program, "sizes": dict(self.sizes), "producer": self.producer,
                "alternatives": listed}  # fmt: skip

    def cells(self) -> Iterator[tuple[str, ...]]:
        """A row of texts per alternative, as both the text and the HTML table show them."""
        for row in self.rows:
            mark = "*" if row.chosen else ""
            numbers = row.numbers
            if not numbers:
                undecided = isinstance(row.refusal, NotDecidedError)
                yield (mark, row.place, "", "", "", "", "unknown" if undecided else "refused")
                continue
            yield (
                mark, row.place, human_bytes(numbers["scratch bytes"]),
                f"{numbers['computed']:.3g}x", f"{numbers['work']:.3f}",
                human_bytes(numbers["bytes moved"]), f"{numbers['parallel tiles']:,.0f}",
            )  # fmt: skip

    def notes(self) -> Iterator[str]:
        """What the numbers do not say: refusals, and producers that moved along."""
        for row in self.rows:
            if row.refusal is not None:
                yield f"{row.place}: {row.refusal.diagnostic.message}"
                yield from (f"  {note}" for note in row.refusal.diagnostic.notes)
            elif row.along:
                moved = ", ".join(f"{name} ({place})" for name, place in row.along.items())
                yield f"{row.place}: with it {moved}"

    def __str__(self) -> str:
        """The table, at most 80 columns wide, and what it cannot hold below."""
        import textwrap

        sizes = ", ".join(f"{k}={v}" for k, v in self.sizes.items())
        lines = [f"{self.producer} in {self.program}  {sizes}"[:80]]
        lines.append(_line(HEAD))
        lines += [_line(cells) for cells in self.cells()]
        for note in self.notes():
            lines += textwrap.wrap(note, 80, initial_indent="  ", subsequent_indent="      ")
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        from polyopt.explain.jupyter import alternatives_html

        return alternatives_html(self)


#: titles of the columns of ``cells``
HEAD = ("", "place", "scratch", "computed", "work", "bytes moved", "parallel tiles")


def _line(cells: Sequence[str]) -> str:
    mark, place, *numbers = cells
    widths = (10, 10, 9, 13, 16)
    return f"{mark:<2}{place:<9}" + "".join(
        f"{cell:>{width}}" for cell, width in zip(numbers, widths, strict=True)
    )


@checks_arguments
def alternatives(
    plan: Plan,
    producer: str,
    sizes: Mapping[str, int] | None = None,
    *,
    target: str | Target = "native",
    places: Sequence[str] = SHOWN,
) -> Alternatives:
    """Each place that a producer could have, proven and with its bill.

    The others stay where the plan has them, unless what the producer reads has to move with it;
    tiles and strips are as large as the plan's where it has some. The place that the plan chose
    is the plan itself.

    A place that isl's budget does not decide is shown as unknown.

    Raises ``UnknownNameError`` where no producer is called that.
    """
    known = assumed_sizes(plan.scop, sizes)
    machine = find_target(target) if isinstance(target, str) else target
    if producer not in producers(plan.scop):
        raise unknown("producer", producer, producers(plan.scop))
    layout = layout_of(plan)
    allowed = budget(ANSWER_BUDGET, f"the places of {producer}")
    rows: list[Alternative] = []
    for place in places:
        try:
            with allowed:
                rows.append(_alternative(plan, layout, producer, place, known, machine))
        except NotDecidedError as error:
            chosen = layout.places[producer] == place
            rows.append(Alternative(producer, place, chosen=chosen, refusal=error))
    return Alternatives(plan.scop.name, known, producer, tuple(rows))


def _alternative(
    plan: Plan, layout: Layout, producer: str, place: str, sizes: Mapping[str, int], machine: Target
) -> Alternative:
    if layout.places[producer] == place:
        bill = cost(plan.program, sizes, machine)
        return Alternative(producer, place, chosen=True, plan=plan, bill=bill)
    laid = lay_out(plan.scop, layout.with_place(producer, place), sizes, machine)
    refusal = _refusal(laid, producer)
    if refusal is not None:
        return Alternative(producer, place, chosen=False, refusal=refusal)
    found = {name: place_of(laid.plan.program, name) for name in layout.places}
    along = {n: p for n, p in found.items() if n != producer and p != layout.places[n]}
    bill = cost(laid.plan.program, sizes, machine)
    return Alternative(producer, place, chosen=False, plan=laid.plan, bill=bill, along=along)


def _refusal(laid: Laid, producer: str) -> PolyoptError | None:
    if producer in laid.elsewhere:
        return laid.elsewhere[producer]
    try:
        laid.plan.prove()
    except UserError as error:
        return error
    return None


def what_if(
    plan: Plan, producer: str, place: str, sizes: Mapping[str, int], machine: Target
) -> Remark:
    """The remark that says what another place would bring, beside what there is.

    Raises ``InvalidOptionError`` for an unknown place, ``UnknownNameError`` for a producer.
    """
    if place not in PLACES:
        message = f"a producer cannot be put {place!r}"
        listed = "; ".join(f"{name}: {text}" for name, text in PLACES.items())
        raise InvalidOptionError(message, hint=listed)
    move = _MOVES.get(place, "fuse")
    now = layout_of(plan).places.get(producer, "")
    wanted = tuple(dict.fromkeys(p for p in (place, now) if p))
    table = alternatives(plan, producer, sizes, target=machine, places=wanted)
    there, here = table[place], table[now]
    readers = ", ".join(p.consumer for p in pairs_of(plan) if p.producer == producer)
    if there.refusal is not None:
        refusal = there.refusal
        shown = refusal.diagnostic
        kind = "unknown" if isinstance(refusal, NotDecidedError) else "refused"
        return Remark(
            kind, move, producer, shown.message, readers, code=refusal.code,
            hint=shown.hint, witnesses=getattr(refusal, "witnesses", ()), span=shown.span,
        )  # fmt: skip
    if there.chosen:
        reason = f"it is there already: {PLACES[place]}"
        return Remark("applied", move, producer, reason, readers, numbers=there.numbers)
    before = {f"{name} now": value for name, value in here.numbers.items()}
    along = f", with {', '.join(there.along)}" if there.along else ""
    reason = f"it would be legal {PLACES[place]}{along}"
    return Remark("not considered", move, producer, reason, readers, there.numbers | before)


def memory_bytes(plan: Plan, bill: Cost) -> float:
    """Bytes that hold intermediate values: arrays in full, one thread's buffers, and the values of
    inlined producers that one instance of what reads them needs."""
    return bill.intermediate_bytes + bill.scratch_bytes + _inlined_bytes(plan.program, bill)


def _inlined_bytes(program: ScheduledProgram, bill: Cost) -> float:
    """Bytes of inlined values per instance, of the statement that needs the most; equal operands
    count once. Instances that are written out in one loop body need theirs together."""
    size = {
        operand.name: program.scop.array(operand.statement.array).type.bytes
        for _, _, operand in program.inlined_reads
    }
    needed: dict[str, float] = {}
    for name, runs in bill.copy_instances.items():
        host = name.partition("/")[0]
        if name in size and bill.copy_instances.get(host):
            share = min(1.0, runs / bill.copy_instances[host])
            needed[host] = needed.get(host, 0.0) + share * size[name]
    needed |= {host: _together(program, host, bill) for host in needed
               if len(rolled(program.places[host])) < len(program.places[host].loops)}  # fmt: skip
    return round(max(needed.values(), default=0.0))


def _together(program: ScheduledProgram, host: str, bill: Cost) -> float:
    """Bytes of inlined values per loop body that holds several instances of a copy."""
    loops = rolled(program.places[host])
    bodies = about(prefix_map(program.copies[host], loops).range(), bill.sizes)
    arrays = {s.name: program.scop.array(s.array) for s in program.scop.statements}
    _, *inlined = evaluated(program, host)
    values = sum(about(runs, bill.sizes) * arrays[name].type.bytes for name, runs, _ in inlined)
    return values / max(1, bodies)


def shared_iterations(plan: Plan, bill: Cost) -> int:
    """Iterations that threads share in the nest that has the fewest; 1 where one has none."""
    found = [
        max((bill.parallel.get(loop.name, 1) for loop in loops_of((node,))), default=1)
        for node in plan.program.tree
        if isinstance(node, PlanLoop)
    ]
    return min(found, default=1)
