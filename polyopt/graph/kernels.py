"""Kernels of groups: each program compiled once, however often it occurs."""

from __future__ import annotations

from dataclasses import dataclass
from time import perf_counter
from typing import TYPE_CHECKING
from weakref import WeakValueDictionary

from polyopt.codegen.target import core_count, target
from polyopt.graph.execution.dispatch import dispatcher
from polyopt.graph.planning import check_of, group_key, planned
from polyopt.runtime.build import start_build
from polyopt.runtime.kernel import Kernel
from polyopt.runtime.processes import helpers
from polyopt.transform.legality.parallel import Obligation
from polyopt.transform.legality.proof import Proof

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from polyopt.graph.fusion.lower import Group
    from polyopt.graph.ir.graph import Graph
    from polyopt.graph.planning import Options, Planned
    from polyopt.runtime.build import Built


@dataclass(frozen=True, eq=False)
class GroupKernel:
    """A compiled group."""

    planned: Planned
    kernel: Kernel
    #: seconds that the check of its C took
    check_seconds: float

    @property
    def proof(self) -> Proof:
        """What was shown of the plan, and of the C text that was compiled."""
        code = Obligation("code", self.kernel.built.checked)
        return Proof((*self.planned.proof.obligations, code))


_KNOWN: WeakValueDictionary[object, GroupKernel] = WeakValueDictionary()


def compile_groups(
    graph: Graph, groups: Sequence[Group], options: Options
) -> tuple[GroupKernel, ...]:
    """A kernel for each group, in their order; equal programs share one.

    While one is planned, and its C validated, the C compiler works on others. Raises what
    operators, plans and the toolchain raise, and ``InternalError`` where C is wrong.
    """
    keys = [group_key(graph, group, options) for group in groups]
    found: dict[object, GroupKernel] = {key: k for key in keys if (k := _KNOWN.get(key))}
    machine = target(options.target)
    with helpers(core_count()) as pool:
        # what calls them is for the compiler, too, and not for the first call
        pool.submit(dispatcher, options.cc, options.cache)
        started: dict[object, _Started] = {}
        for key, group in zip(keys, groups, strict=True):
            if key in found or key in started:
                continue
            done = planned(graph, group, options)
            start = perf_counter()
            built = start_build(
                done.program, machine, pool, cc=options.cc, cache=options.cache,
                check=check_of(done, options),
            )  # fmt: skip
            started[key] = _Started(done, built, perf_counter() - start)
        for key, one in started.items():
            found[key] = _KNOWN[key] = one.finished()
    return tuple(found[key] for key in keys)


@dataclass(frozen=True, eq=False)
class _Started:
    """A group whose C is with the compiler."""

    planned: Planned
    built: Callable[[], Built]
    check_seconds: float

    def finished(self) -> GroupKernel:
        built = self.built()
        kernel = Kernel(self.planned.program, self.planned.context, built)
        return GroupKernel(self.planned, kernel, self.check_seconds)


def seconds_of(kernels: Iterable[GroupKernel]) -> Mapping[str, float]:
    """Seconds spent on planning, and on checks of the C, over distinct kernels."""
    distinct = {id(k): k for k in kernels}.values()
    return {
        "plan": sum(k.planned.seconds for k in distinct),
        "check": sum(k.check_seconds for k in distinct),
    }
