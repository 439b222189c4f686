"""A plan as plain data, for a browser that has no Python: all that the explorer draws of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from polyopt.codegen.target import target as find_target
from polyopt.errors import IllegalScheduleError, PolyoptError, UserError
from polyopt.explain.choices.placements import place_of, producers
from polyopt.explain.explorer.arrows import dependence_arrows
from polyopt.explain.explorer.cache_simulator import CacheLevel, scaled_caches, simulate
from polyopt.explain.explorer.drawn import draw
from polyopt.explain.explorer.listing import c_lines, nest_lines, source_lines
from polyopt.scheduler.model.cost import cost
from polyopt.scheduler.model.table import human_bytes

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from polyopt.errors import Witness
    from polyopt.explain.explorer.execution import Execution, Instances
    from polyopt.transform.plan import Plan
    from polyopt.transform.schedule.program import ScheduledProgram

    Json = dict[str, Any]

#: digits of counts per step: one character each, the last stands for all larger ones
_DIGITS = "0123456789abcdefghijklmnopqrstuvwxyz"


@dataclass(frozen=True)
class Sizes:
    """The parameters' values of pictures, and of costs and measurements."""

    drawn: Mapping[str, int]
    real: Mapping[str, int]
    #: simulated caches; empty for those scaled to the data drawn
    caches: tuple[CacheLevel, ...] = ()


def program_data(plan: Plan, sizes: Sizes) -> Json:
    """What is the same for all plans of a program: its source, statements and dependences."""
    scop = plan.source
    return {
        "name": scop.name,
        "source": source_lines(plan),
        "sizes": {"drawn": dict(sizes.drawn), "real": dict(sizes.real)},
        "producers": list(producers(scop)),
    }


def plan_data(plan: Plan, sizes: Sizes) -> Json:
    """A proven plan as data for JSON.

    Raises what the proof raises.
    """
    proof = plan.prove()
    code = plan.emit()
    return {
        "nest": nest_lines(plan.program),
        "c": c_lines(plan, code),
        "script": plan.script,
        "proof": [[o.name, o.detail] for o in proof.obligations],
        "places": {n: place_of(plan.program, n) for n in producers(plan.scop)},
        "cost": _cost(plan, sizes),
        "picture": _picture(plan, sizes),
    }


def _cost(plan: Plan, sizes: Sizes) -> list[list[str]]:
    """The bill's main quantities, under the names that they have everywhere."""
    found = cost(plan.program, sizes.real, find_target("native"))
    loops = [f"{name} ({n:,} iterations)" for name, n in found.parallel.items()]
    times = found.operations / max(1, found.source_operations)
    return [
        ["work", f"{times:.3f} times the source's"],
        ["scratch", human_bytes(sum(s.bytes for s in found.scratch)) + " per thread"],
        ["bytes moved", human_bytes(found.bytes_moved)],
        ["parallel loops", ", ".join(loops) or "none"],
    ]


def _picture(plan: Plan, sizes: Sizes) -> Json:
    """Spaces, order and memory; or why there is nothing to see."""
    try:
        drawn = draw(plan, sizes.drawn)
    except UserError as error:
        return {"refused": error.diagnostic.message}
    execution = drawn.execution
    return {
        "scaled": list(drawn.scaled),
        "spaces": [_space(drawn.plan.program, found) for found in execution.instances],
        "order": run_lengths(execution.order.tolist()),
        "dependences": dependence_arrows(plan.scop, sizes.drawn),
        "memory": memory_data(execution, sizes.caches),
        "outline": _outlined(drawn.plan.program),
    }


def _outlined(program: ScheduledProgram) -> str:
    """The loop whose iterations are outlined first: the innermost one over blocks."""
    blocks = [
        loop.name
        for place in program.places.values()
        for loop in place.loops
        if loop.blocks_of is not None
    ]
    return blocks[-1] if blocks else ""


def _space(program: ScheduledProgram, found: Instances) -> Json:
    """The instances of a copy, column by column, in the order in which they run."""
    copy = program.copies[found.copy]
    own = found.rows[:, copy.outer :]
    columns = [own[:, d].tolist() for d in range(own.shape[1])]
    loops: list[Json] = []
    for name, values in found.loops.items():
        column = values.tolist()
        same = next((d for d, known in enumerate(columns) if known == column), -1)
        loops.append({"name": name} | ({"same": same} if same >= 0 else {"values": column}))
    return {
        "copy": found.copy, "statement": copy.statement.name, "array": copy.statement.array,
        "iterators": list(copy.statement.iterators), "columns": columns, "loops": loops,
    }  # fmt: skip


def run_lengths(values: Iterable[int]) -> list[list[int]]:
    """``[[value, count], ...]`` of neighbours that are equal."""
    runs: list[list[int]] = []
    for value in values:
        if runs and runs[-1][0] == value:
            runs[-1][1] += 1
        else:
            runs.append([value, 1])
    return runs


def memory_data(execution: Execution, caches: Sequence[CacheLevel]) -> Json:
    """The cache lines that each step touches, and how many accesses miss each level."""
    buffers = execution.memory
    accesses = execution.accesses()
    if not buffers:
        return {"buffers": []}
    data = sum(b.bytes for b in buffers)
    levels = tuple(caches) or scaled_caches(data, max(b.element for b in buffers))
    line = levels[0].line
    missed = simulate((a // line for step in accesses for a in step), levels)
    touched: list[list[int]] = []
    worst: list[str] = []
    counts = ["" for _ in range(len(levels) + 1)]
    position = 0
    for step in accesses:
        here = missed[position : position + len(step)]
        position += len(step)
        lines: dict[int, int] = {}
        for address, count in zip(step, here, strict=True):
            number = address // line
            lines[number] = max(lines.get(number, 0), count)
        touched.append(list(lines))
        worst.append("".join(map(str, lines.values())))
        for level in range(len(levels) + 1):  # all accesses, then those that miss level after level
            counts[level] += _DIGITS[min(35, sum(c >= level for c in here))]
    return {
        "buffers": [
            {"name": b.name, "array": b.array, "shape": list(b.shape), "first": b.start // line,
             "lines": -(-b.bytes // line), "element": b.element}
            for b in buffers
        ],
        "levels": [{"name": x.name, "capacity": x.capacity, "line": x.line, "ways": x.ways}
                   for x in levels],
        "scaled": not caches,
        "touched": touched, "missed": worst, "counts": counts,
    }  # fmt: skip


def refusal_data(error: PolyoptError, small: Sequence[Witness] = ()) -> Json:
    """A refusal: its message, its hint, and its witnesses as arrows.

    Those of ``small`` tiles are drawn in place of the error's own, which may lie far outside.
    """
    known = error.diagnostic
    witnesses = error.witnesses if isinstance(error, IllegalScheduleError) else ()
    witnesses = small or witnesses
    return {
        "code": error.code, "message": known.message, "hint": known.hint,
        "witnesses": [
            {"kind": w.kind, "source": [w.source[0], list(w.source[1])],
             "sink": [w.sink[0], list(w.sink[1])], "text": str(w)}
            for w in witnesses
        ],
    }  # fmt: skip
