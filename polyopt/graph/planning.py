"""Plans of groups: each program planned once, however often it occurs, and kept on disk."""

from __future__ import annotations

import pickle
from dataclasses import dataclass, replace
from functools import cached_property
from time import perf_counter
from typing import TYPE_CHECKING
from weakref import WeakValueDictionary

from polyopt.codegen.validate.on_build import CodeCheck, is_asked_for
from polyopt.errors import InvalidOptionError
from polyopt.graph.fusion.lower import lower, signature
from polyopt.graph.operators import get_operator
from polyopt.scheduler import auto
from polyopt.scheduler.model.cost import Cost, cost
from polyopt.scheduler.plan_cache import PlanCache
from polyopt.transform.plan import Plan

if TYPE_CHECKING:
    from collections.abc import Mapping

    from polyopt.codegen.signature import CProgram
    from polyopt.codegen.target import Target
    from polyopt.graph.fusion.lower import Group, Lowered
    from polyopt.graph.ir.graph import Graph
    from polyopt.graph.operators import Operator
    from polyopt.isl import Set
    from polyopt.transform.legality.proof import Proof


@dataclass(frozen=True)
class Options:
    """How groups become kernels. ``scheduled=False`` runs their stages as they are written;
    ``cache`` is a directory for compiled ones, the user's unless given; ``check`` validates new C
    (``None``: unless ``POLYOPT_CHECK`` is off); ``wait_policy`` is ``auto``'s: threads spin from
    one kernel of a network to the next."""

    target: str | Target = "native"
    cc: str | None = None
    scheduled: bool = True
    cache: str | None = None
    check: bool | None = None
    wait_policy: str = "active"


@dataclass(frozen=True, eq=False)
class Planned:
    """A group's program with its plan; positions refer to the group's inputs, nodes, outputs."""

    signature: str
    program: CProgram
    #: what the sizes of the program have to satisfy
    context: Set
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    #: array of each node
    arrays: tuple[str, ...]
    #: what was shown of the plan
    proof: Proof
    #: ``CodeCheck.key`` of the program and the plan
    check_key: str
    seconds: float
    #: the group's program and plan; pickled where these came from disk, as few ask for them
    source: tuple[Lowered, Plan] | bytes

    @cached_property
    def _source(self) -> tuple[Lowered, Plan]:
        return pickle.loads(self.source) if isinstance(self.source, bytes) else self.source  # noqa: S301 (ours: see KernelCache)

    @property
    def lowered(self) -> Lowered:
        """The group's stages as they are written."""
        return self._source[0]

    @property
    def plan(self) -> Plan:
        """How they run."""
        return self._source[1]

    def stored(self) -> bytes:
        """It as bytes, program and plan apart."""
        return pickle.dumps(replace(self, seconds=0.0, source=pickle.dumps(self._source)))


@dataclass(frozen=True)
class PlannedCheck:
    """``CodeCheck`` of a plan's C: the plan is taken from disk only where it has to run."""

    planned: Planned

    @property
    def key(self) -> str:
        """What tells the program from any other."""
        return self.planned.check_key

    def __call__(self) -> str:
        """What is shown, in words."""
        return CodeCheck(self.planned.plan.scop, self.planned.program)()


def check_of(done: Planned, options: Options) -> PlannedCheck | None:
    """The check of a plan's C, where one is asked for."""
    return PlannedCheck(done) if is_asked_for(check=options.check) else None


_PLANNED: WeakValueDictionary[object, Planned] = WeakValueDictionary()


def planned(graph: Graph, group: Group, options: Options) -> Planned:
    """The plan of a group, made once for all groups of the same program while it is in use; from
    the plan cache where another process made it."""
    key = group_key(graph, group, options)
    found = _PLANNED.get(key)
    if found is None:
        _PLANNED[key] = found = _found_or_made(graph, group, options)
    return found


def group_key(graph: Graph, group: Group, options: Options) -> object:
    """What tells a group's kernel from others in this process."""
    checked = is_asked_for(check=options.check)
    return signature(graph, group), _operators(group), replace(options, check=checked)


def _operators(group: Group) -> tuple[Operator, ...]:
    return tuple(get_operator(node.op) for node in group.nodes)


def _found_or_made(graph: Graph, group: Group, options: Options) -> Planned:
    start = perf_counter()
    choices = signature(graph, group), options.scheduled, options.wait_policy
    # nothing tells when functions of the user's change
    known = all(o.is_shipped and o.schedule is None for o in _operators(group))
    cache = PlanCache.of(options.target, options.cache) if known else None
    found = cache.get(choices) if cache else None
    if isinstance(found, Planned):
        return replace(found, seconds=perf_counter() - start)
    made = _plan(graph, group, options)
    if cache:
        cache.put(choices, made.stored())
    return made


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
        signature(graph, group), program, lowered.scop.context, inputs, outputs, arrays,
        plan.prove(), CodeCheck(plan.scop, program).key, perf_counter() - start, (lowered, plan),
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
        return auto(
            lowered.scop, target=options.target, sizes=known, wait_policy=options.wait_policy
        )
    found = own(Plan(lowered.scop))
    if not isinstance(found, Plan):
        msg = f"the schedule of {group.nodes[0].op} returned no plan"
        raise InvalidOptionError(msg, hint="plans are immutable: return what the last move gives")
    return found


def planned_scratch(graph: Graph, group: Group, options: Options) -> int:
    """Bytes that the kernel which a group would become takes beside its operands: buffers per
    thread, and what it keeps between its nests."""
    return scratch_of(cost(planned(graph, group, options).plan.program, {}, options.target))


def scratch_of(bill: Cost) -> int:
    """The same, of a kernel's bill."""
    return bill.scratch_bytes + bill.intermediate_bytes
