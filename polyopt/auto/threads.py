"""Which loops threads share: the outermost that carry no dependence and have work for all."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from polyopt.analysis.count import count
from polyopt.errors import PolyoptError
from polyopt.transform.parallel import check_loop
from polyopt.transform.remark import Remark
from polyopt.transform.tree import PlanLoop, copies_in, loops_of, prefix_map, replace_loop

if TYPE_CHECKING:
    from collections.abc import Mapping

    from polyopt.transform.program import Program
    from polyopt.transform.tree import Tree

#: iterations per thread that keep the shares even
PER_THREAD = 4


def parallelize_outer(
    program: Program, sizes: Mapping[str, int], cores: int
) -> tuple[Program, tuple[Remark, ...]]:
    """The program with one parallel loop in every nest that has one."""
    remarks: list[Remark] = []
    if cores < 2:
        return program, (Remark("not considered", "parallelize", "all loops", "one core"),)
    for node in program.tree:
        if isinstance(node, PlanLoop):
            program, said = _in_nest(program, node, sizes, cores)
            remarks += said
    return program, tuple(remarks)


def _in_nest(
    program: Program, root: PlanLoop, sizes: Mapping[str, int], cores: int
) -> tuple[Program, list[Remark]]:
    """Mark the first loop, from the outside in, that is independent and long enough."""
    remarks: list[Remark] = []
    fallback: Program | None = None
    level: Tree = (root,)
    while level:
        if len(level) > 1 or not isinstance(level[0], PlanLoop):
            if fallback is None:
                return _in_each(program, level, remarks, sizes, cores)
            break
        loop = level[0]
        level = loop.body
        if loop.mark:
            break
        marked = replace(
            program,
            tree=replace_loop(program.tree, loop.name, lambda n: (replace(n, mark="parallel"),)),
        )
        try:
            check_loop(marked, _named(marked, loop.name))
        except PolyoptError as error:
            witnesses = getattr(error, "witnesses", ())
            remarks.append(
                Remark("refused", "parallelize", loop.name, error.diagnostic.message,
                       witnesses=witnesses, code=error.code)
            )  # fmt: skip
            continue
        trips = _trips(program, loop, sizes)
        numbers = {"iterations": trips}
        if trips >= PER_THREAD * cores:
            reason = "its iterations are independent"
            return marked, [*remarks, Remark("applied", "parallelize", loop.name, reason,
                                             numbers=numbers)]  # fmt: skip
        fallback = fallback or marked
        reason = "too few iterations to share evenly"
        remarks.append(Remark("refused", "parallelize", loop.name, reason, numbers=numbers))
    return fallback or program, remarks


def _in_each(
    program: Program,
    nests: Tree,
    remarks: list[Remark],
    sizes: Mapping[str, int],
    cores: int,
) -> tuple[Program, list[Remark]]:
    """No loop around them is independent: each nest gets a parallel loop of its own."""
    for node in nests:
        if isinstance(node, PlanLoop):
            program, said = _in_nest(program, node, sizes, cores)
            remarks = [*remarks, *said]
    return program, remarks


def _named(program: Program, name: str) -> PlanLoop:
    return next(loop for loop in loops_of(program.tree) if loop.name == name)


def _trips(program: Program, loop: PlanLoop, sizes: Mapping[str, int]) -> float:
    """Iterations of a loop per entry, on average."""
    copy = copies_in(loop)[-1]
    path = program.places[copy].loops
    level = next(i for i, node in enumerate(path) if node.name == loop.name)
    inner = count(prefix_map(program.copies[copy], path[: level + 1]).range(), sizes)
    outer = count(prefix_map(program.copies[copy], path[:level]).range(), sizes) if level else 1
    return inner / max(outer, 1)
