"""Kernels of groups: each program planned and compiled once, however often it occurs."""

from __future__ import annotations

from dataclasses import dataclass
from time import perf_counter
from typing import TYPE_CHECKING
from weakref import WeakValueDictionary

from polyopt.codegen.target import core_count, target
from polyopt.errors import InvalidOptionError
from polyopt.graph.fusion.lower import lower, signature
from polyopt.graph.operators import get_operator
from polyopt.runtime.build import build_library
from polyopt.runtime.kernel import Kernel
from polyopt.runtime.processes import helpers, result_of
from polyopt.scheduler import auto
from polyopt.scheduler.model.cost import Cost, cost
from polyopt.transform.plan import Plan

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from concurrent.futures import Future

    from polyopt.codegen.signature import CProgram
    from polyopt.codegen.target import Target
    from polyopt.graph.fusion.lower import Group, Lowered
    from polyopt.graph.ir.graph import Graph
    from polyopt.graph.operators import Operator
    from polyopt.runtime.build import Built


@dataclass(frozen=True)
class Options:
    """How groups become kernels. ``scheduled=False`` runs their stages as they are written;
    ``cache`` is a directory for compiled ones, the user's unless given."""

    target: str | Target = "native"
    cc: str | None = None
    scheduled: bool = True
    cache: str | None = None


@dataclass(frozen=True, eq=False)
class Planned:
    """A group's program with its plan; positions refer to the group's inputs, nodes, outputs."""

    signature: str
    lowered: Lowered
    plan: Plan
    program: CProgram
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    #: array of each node
    arrays: tuple[str, ...]
    seconds: float


@dataclass(frozen=True, eq=False)
class GroupKernel:
    """A compiled group."""

    planned: Planned
    kernel: Kernel
    #: seconds that the C compiler took
    compile_seconds: float


_KNOWN: WeakValueDictionary[object, GroupKernel] = WeakValueDictionary()


def compile_groups(
    graph: Graph, groups: Sequence[Group], options: Options
) -> tuple[GroupKernel, ...]:
    """A kernel for each group, in their order; equal programs share one.

    While one is planned, the C compiler works on others. Raises what operators, plans and the
    toolchain raise.
    """
    keys = [_key(graph, group, options) for group in groups]
    found: dict[object, GroupKernel] = {key: k for key in keys if (k := _KNOWN.get(key))}
    machine = target(options.target)
    with helpers(core_count()) as pool:
        started: dict[object, tuple[Planned, Future[tuple[Built, float]]]] = {}
        for key, group in zip(keys, groups, strict=True):
            if key in found or key in started:
                continue
            found_plan = planned(graph, group, options)
            job = pool.submit(_timed_build, found_plan.program, machine, options)
            started[key] = found_plan, job
        for key, (done, future) in started.items():
            built, seconds = result_of(future)
            kernel = Kernel(done.program, done.lowered.scop.context, built)
            found[key] = _KNOWN[key] = GroupKernel(done, kernel, seconds)
    return tuple(found[key] for key in keys)


def _key(graph: Graph, group: Group, options: Options) -> object:
    operators: tuple[Operator, ...] = tuple(get_operator(node.op) for node in group.nodes)
    return signature(graph, group), operators, options


def _timed_build(program: CProgram, machine: Target, options: Options) -> tuple[Built, float]:
    start = perf_counter()
    built = build_library(program, machine, cc=options.cc, cache=options.cache)
    return built, perf_counter() - start


def planned_scratch(graph: Graph, group: Group, options: Options) -> int:
    """Bytes that the kernel which a group would become takes beside its operands: buffers per
    thread, and what it keeps between its nests."""
    return scratch_of(cost(planned(graph, group, options).plan.program, {}, options.target))


def scratch_of(bill: Cost) -> int:
    """The same, of a kernel's bill."""
    return bill.scratch_bytes + bill.intermediate_bytes


_PLANNED: WeakValueDictionary[object, Planned] = WeakValueDictionary()


def planned(graph: Graph, group: Group, options: Options) -> Planned:
    """The plan of a group, made once for all groups of the same program while it is in use."""
    key = _key(graph, group, options)
    found = _PLANNED.get(key)
    if found is None:
        _PLANNED[key] = found = _plan(graph, group, options)
    return found


def _plan(graph: Graph, group: Group, options: Options) -> Planned:
    start = perf_counter()
    lowered = lower(graph, group)
    usual = {size.symbol: int(size) for size in graph.open.values()}
    plan = plan_group(lowered, group, options, usual)
    program = plan.emit()
    inputs = tuple(lowered.arrays[name] for name in group.inputs)
    outputs = tuple(lowered.arrays[name] for name in group.outputs)
    arrays = tuple(lowered.arrays[node.name] for node in group.nodes)
    return Planned(
        signature(graph, group), lowered, plan, program, inputs, outputs, arrays,
        perf_counter() - start,
    )  # fmt: skip


def plan_group(
    lowered: Lowered, group: Group, options: Options, usual: Mapping[str, int] | None = None
) -> Plan:
    """The plan of a group's program: that of its operator where it brings one, else automatic,
    for the ``usual`` numbers of its sizes.

    Raises ``InvalidOptionError`` where an operator's schedule returns no plan.
    """
    if not options.scheduled:
        return Plan(lowered.scop)
    own = get_operator(group.nodes[0].op).schedule if len(group.nodes) == 1 else None
    if own is None:
        known = {name: n for name, n in (usual or {}).items() if name in lowered.scop.params}
        return auto(lowered.scop, target=options.target, sizes=known)
    found = own(Plan(lowered.scop))
    if not isinstance(found, Plan):
        msg = f"the schedule of {group.nodes[0].op} returned no plan"
        raise InvalidOptionError(msg, hint="plans are immutable: return what the last move gives")
    return found


def seconds_of(kernels: Iterable[GroupKernel]) -> Mapping[str, float]:
    """Seconds spent on planning, and in the C compiler, over distinct kernels."""
    distinct = {id(k): k for k in kernels}.values()
    return {
        "plan": sum(k.planned.seconds for k in distinct),
        "compile": sum(k.compile_seconds for k in distinct),
    }
