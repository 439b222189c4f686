"""Where one element comes from: the instances that compute it, and the inputs that they read.

The flow of the source says who read whose value; followed backwards from the element's last writer
to the inputs it gives every instance behind the element, exactly. The plan says where each of them
runs, how often, and where its values are kept.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, cast

from polyopt.analysis.sets.count import Number, counted
from polyopt.arguments import checks_arguments
from polyopt.errors import InvalidOptionError, NotDecidedError
from polyopt.isl import (
    UnionSet,
    budget,
    dim_type,
    fix_param_values,
    instance_of,
    integer_val,
    sets_of,
    tuple_name,
)
from polyopt.oneline import at_sizes, one_line, some
from polyopt.scheduler.model.instances import evaluated
from polyopt.scheduler.model.parameters import assumed_sizes
from polyopt.transform.schedule.printer import describe
from polyopt.transform.schedule.query import unknown
from polyopt.transform.schedule.tree import prefix_map

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from polyopt.isl import Set, UnionMap
    from polyopt.transform.plan import Plan
    from polyopt.transform.schedule.program import ScheduledProgram

#: isl operations for following the flow backwards, and steps of it
BUDGET, STEPS = 10_000_000, 20_000
#: elements that are listed one by one where they fill no box
LISTED = 6
_ELEMENT = re.compile(r"\s*([A-Za-z_]\w*)\s*(?:\[([-\d,\s]*)\])?\s*")


@dataclass(frozen=True)
class Part:
    """Instances of one statement, or elements of one input, that an element is computed from."""

    name: str
    count: int
    #: ``bx[10..12, 20]``; ``within`` a box where they do not fill it
    span: str
    #: first and last value per dimension of the smallest box around them
    box: tuple[tuple[int, int], ...]
    #: how often the plan runs all of them together; 0 for inputs
    runs: int = 0
    #: where the plan keeps their values
    kept: str = ""
    #: which of ``count`` and ``runs`` is an estimate: the exact number takes too long
    estimated: tuple[str, ...] = ()

    @property
    def number(self) -> str:
        """How many there are, with ``~`` before an estimate."""
        return f"{'~' * ('count' in self.estimated)}{self.count:,}"

    @property
    def times(self) -> str:
        """``run once each``, ``run 12 times``."""
        if self.runs == self.count and not self.estimated:
            return "run once each"
        return f"run {'~' * ('runs' in self.estimated)}{self.runs:,} times"


@dataclass(frozen=True)
class Provenance:
    """What ``element`` is computed from. ``str`` is a text of at most 80 columns."""

    program: str
    sizes: Mapping[str, int]
    element: str
    #: ``out[10, 20]``: the instance whose value it has in the end
    writer: str
    #: values of the loops around the writer: ``{"out.y_tile": 0}``
    at: Mapping[str, int]
    #: statements backwards from the element, that of the writer first
    instances: tuple[Part, ...]
    inputs: tuple[Part, ...]

    def __repr__(self) -> str:
        """The element, and from how many statements and inputs it comes."""
        name = f"{self.element} in {at_sizes(self.program, self.sizes)}"
        inputs = some(len(self.inputs), "input")
        return one_line(self, name, some(len(self.instances), "statement"), inputs)

    def as_dict(self) -> dict[str, object]:
        """The provenance for JSON."""

        def listed(parts: tuple[Part, ...]) -> list[dict[str, object]]:
            return [
                {"name": p.name, "count": p.count, "span": p.span,
                 "box": [list(side) for side in p.box], "runs": p.runs, "kept": p.kept,
                 "estimated": list(p.estimated)}
                for p in parts
            ]  # fmt: skip

        return {
            "program": self.program, "sizes": dict(self.sizes), "element": self.element,
            "writer": self.writer, "at": dict(self.at), "instances": listed(self.instances),
            "inputs": listed(self.inputs),
        }  # fmt: skip

    def lines(self) -> Iterator[tuple[str, str, str, str]]:
        """Per statement, then per input: its name, how many, which, and what the plan does."""
        for part in self.instances:
            yield part.name, part.number, part.span, f"{part.kept}; {part.times}"
        for part in self.inputs:
            yield part.name, part.number, part.span, "input"

    def __str__(self) -> str:
        """The writer, then what it needs, a statement or an input a line."""
        import textwrap

        sizes = ", ".join(f"{k}={v}" for k, v in self.sizes.items())
        at = ", ".join(f"{k} = {v}" for k, v in self.at.items())
        head = f"{self.element} of {self.program}  {sizes}"
        lines = [head[:80], *textwrap.wrap(f"written by {self.writer} at {at}", 80)]
        for name, number, span, said in self.lines():
            text = f"  {name:<10} {number:>7}  {span}"
            apart = len(text) + 2 + len(said) > 80
            lines += [text, f"{'':<22}{said}"] if apart else [f"{text}  {said}"]
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        from polyopt.explain.jupyter import provenance_html

        return provenance_html(self)


@checks_arguments
def why(plan: Plan, element: object, sizes: Mapping[str, int] | None = None) -> Provenance:
    """Everything that one element is computed from, and where the plan does that.

    ``element`` is a text, ``"out[10, 20]"``, or an indexed stage, ``out[10, 20]``; parameters have
    the values ``sizes``, or usual ones.

    Raises ``UnknownNameError`` for an array that is not there, ``InvalidOptionError`` for an
    element that nothing computes, ``NotDecidedError`` where the chain behind it is too long.
    """
    scop = plan.scop
    known = assumed_sizes(scop, sizes)
    array, index = _named(element)
    shown = f"{array}[{', '.join(map(str, index))}]" if index else array
    with budget(BUDGET, f"the instances behind {shown}"):
        found, fixed = scop.dependences(), fix_param_values(scop.context, known)
        writer = _writer(plan, array, index, known)
        flow = found.flow.reverse().intersect_params(fixed)
        every = _behind(writer, flow, shown)
        reads = found.live_in.domain_factor_domain().intersect_params(fixed)
        inputs = tuple(
            _part(tuple_name(part), part, known) for part in sets_of(every.apply(reads).coalesce())
        )
        order = {s.name: k for k, s in enumerate(scop.statements)}
        parts = sorted(sets_of(every), key=lambda part: -order[tuple_name(part)])
        instances = tuple(_instances(plan, part, known) for part in parts)
        name, values = _instance(writer)
    wrote = f"{name}[{', '.join(map(str, values))}]"
    at = _loops_at(plan.program, name, values, known)
    return Provenance(scop.name, known, shown, wrote, at, instances, inputs)


def _named(element: object) -> tuple[str, tuple[int, ...]]:
    """The array and the index of an element, from a text or from a stage's term."""
    if isinstance(element, str):
        found = _ELEMENT.fullmatch(element)
        parts = [part for part in (found[2] or "").split(",") if part.strip()] if found else []
        try:
            if found:
                return found[1], tuple(int(part) for part in parts)
        except ValueError:
            pass
    if getattr(element, "op", "") == "load":
        term = cast("Any", element)
        index: list[object] = [getattr(part.payload, "value", None) for part in term.args]
        numbers = [i for i in index if isinstance(i, int)]
        if len(numbers) == len(index):
            return term.payload.name, tuple(numbers)
    shown = repr(element) if isinstance(element, str) else f"a {type(element).__name__}"
    message = f"{shown} names no element"
    raise InvalidOptionError(message, hint='write why("out[10, 20]")')


def _writer(plan: Plan, array: str, index: tuple[int, ...], sizes: Mapping[str, int]) -> UnionSet:
    """``{ S[i] }``: the last instance that writes an element."""
    scop = plan.scop
    names = [a.name for a in scop.arrays]
    if array not in names:
        raise unknown("array", array, names)
    rank = scop.array(array).rank
    if len(index) != rank:
        message = f"{array} has {rank} dimensions, not {len(index)}"
        raise InvalidOptionError(message, hint=f'write why("{array}[{", ".join("0" * rank)}]")')
    cell = scop.elements[array].intersect_params(scop.context)
    cell = fix_param_values(cell, sizes)
    for position, value in enumerate(index):
        cell = cell.fix_val(dim_type.set, position, integer_val(value))
    shown = f"{array}[{', '.join(map(str, index))}]"
    sized = ", ".join(f"{k} = {v}" for k, v in sizes.items())
    if cell.is_empty():
        message = f"{shown} is no element of {array} for {sized}"
        raise InvalidOptionError(message, hint="give other sizes=, or another index")
    found = scop.dependences()
    writers = scop.writes.intersect_range(UnionSet.from_set(cell)).domain()
    # those whose value another writer of the same element overwrites are not the last
    again = found.value_output.intersect_domain(writers).intersect_range(writers)
    last = writers.subtract(again.domain())
    if last.is_empty():
        message = f"{shown} is not computed: its value is the caller's"
        raise InvalidOptionError(message, hint="ask for an element that a statement writes")
    return last.coalesce()


def _instance(one: UnionSet) -> tuple[str, tuple[int, ...]]:
    """The name and the iterators of the one instance in a set."""
    (part,) = sets_of(one)
    found = instance_of(part)
    assert found is not None
    return found[0], found[1]


def _behind(writer: UnionSet, flow: UnionMap, shown: str) -> UnionSet:
    """All instances whose values reach a writer: ``flow`` is ``{ S[i] -> P[j] }``, backwards."""
    every = latest = writer
    for _ in range(STEPS):
        latest = latest.apply(flow).subtract(every)
        if latest.is_empty():
            return every.coalesce()
        every = every.union(latest).coalesce()
    message = f"the chain behind {shown} takes more than {STEPS:,} steps"
    raise NotDecidedError(message, hint="give smaller sizes=")


def _part(name: str, found: Set, sizes: Mapping[str, int]) -> Part:
    number = counted(found, sizes)
    box = tuple(
        (found.dim_min_val(d).to_python(), found.dim_max_val(d).to_python())
        for d in range(found.dim(dim_type.set))
    )
    volume = 1
    for low, high in box:
        volume *= high - low + 1
    sides = ", ".join(str(a) if a == b else f"{a}..{b}" for a, b in box)
    span = f"{name}[{sides}]" if box else name
    is_box = number.is_exact and volume == number.value
    guess = () if number.is_exact else ("count",)
    return Part(name, number.value, span if is_box else f"within {span}", box, estimated=guess)


def _instances(plan: Plan, found: Set, sizes: Mapping[str, int]) -> Part:
    """The part of a statement, with what the plan does with these instances."""
    name = tuple_name(found)
    part = _part(name, found, sizes)
    program = plan.program
    array = plan.scop.statement(name).array
    if array in program.inlined:
        runs = [
            counted(_those(domain, outer, found, sizes), sizes)
            for host in program.places
            for statement, domain, outer in evaluated(program, host)
            if statement == name
        ]
        return _run(part, runs, "inlined")
    copies = [program.copies[n] for n in program.places
              if program.copies[n].statement.name == name]  # fmt: skip
    runs = [counted(_those(c.domain, c.outer, found, sizes), sizes) for c in copies]
    kept = {program.scratch(c.name, array, reading=False) for c in copies}
    texts = sorted(f"in {describe(s)}" if s is not None else f"in {array}" for s in kept)
    return _run(part, runs, " and ".join(texts))


def _run(part: Part, runs: list[Number], kept: str) -> Part:
    """The part with how often the plan runs it, and where it keeps it."""
    guess = () if all(number.is_exact for number in runs) else ("runs",)
    total = sum(number.value for number in runs)
    return replace(part, runs=total, kept=kept, estimated=(*part.estimated, *guess))


def _those(domain: Set, outer: int, found: Set, sizes: Mapping[str, int]) -> Set:
    """``{ C[t, i] : S[i] in found }``."""
    wide = found.insert_dims(dim_type.set, 0, outer)
    named = domain.has_tuple_id()
    wide = wide.set_tuple_id(domain.get_tuple_id()) if named else wide.reset_tuple_id()
    return fix_param_values(domain, sizes).intersect(wide)


def _loops_at(
    program: ScheduledProgram, statement: str, values: tuple[int, ...], sizes: Mapping[str, int]
) -> dict[str, int]:
    """The values of the loops around an instance where it runs first."""
    for name, place in program.places.items():
        copy = program.copies[name]
        if copy.statement.name != statement:
            continue
        domain = fix_param_values(copy.domain, sizes)
        for position, value in enumerate(values):
            number = integer_val(value)
            domain = domain.fix_val(dim_type.set, copy.outer + position, number)
        times = fix_param_values(prefix_map(copy, place.loops).wrap(), sizes).unwrap()
        found = times.intersect_domain(domain).range()
        if found.is_empty():
            continue
        first = found.lexmin()
        at = (first.dim_min_val(d).to_python() for d in range(first.dim(dim_type.set)))
        return dict(zip((loop.name for loop in place.loops), at, strict=True))
    return {}
