"""A compiled network: groups of nodes as kernels, their tensors in one arena."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from threading import Lock
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from polyopt.arguments import checks_methods
from polyopt.errors import ArgumentError, InvalidOptionError
from polyopt.graph.execution.dispatch import KernelSequence, may_dispatch
from polyopt.graph.execution.inputs import Input
from polyopt.graph.execution.memory import Lifetime, plan_memory
from polyopt.graph.ir.graph import array_dtype
from polyopt.graph.ir.open import Open
from polyopt.graph.ir.ranges import index_checks, outside
from polyopt.graph.operators import get_operator
from polyopt.runtime.arrays import address_of, aligned_copy, empty, empty_at

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from polyopt.graph.execution.memory import Arena
    from polyopt.graph.execution.profile import LimitMs, Profile
    from polyopt.graph.execution.proof import NetworkProof
    from polyopt.graph.fusion.lower import Group
    from polyopt.graph.fusion.policy import Grouping
    from polyopt.graph.ir.graph import Array, Graph
    from polyopt.graph.ir.ranges import IndexCheck
    from polyopt.graph.kernels import GroupKernel
    from polyopt.graph.planning import Options
    from polyopt.graph.reasons import NetworkExplanation
    from polyopt.runtime.bound import BoundKernel
    from polyopt.runtime.kernel import Kernel

#: numbers of open sizes for which a model keeps memory and calls
_MOST_KEPT = 4


@dataclass(frozen=True, eq=False)
class Step:
    """One call of a kernel, and the graph's tensors that are its arguments, by array."""

    group: Group
    kernel: GroupKernel
    arguments: Mapping[str, str]

    @property
    def operators(self) -> str:
        """What it computes, in words."""
        return " + ".join(node.op for node in self.group.nodes)


@checks_methods
class Model:
    """A network as a function on NumPy arrays.

    Inputs go by position, in the graph's order, or by name; the outputs come back as new arrays,
    one alone or a tuple. One model runs one call at a time; others wait.

    Where the graph leaves sizes open, such as the number of images, a call takes any, and ``at``
    is the model for one: kernels and weights are the same for all, memory is planned for each.
    """

    def __init__(
        self,
        graph: Graph,
        grouping: Grouping,
        kernels: Sequence[GroupKernel],
        options: Options,
        whole: Model | None = None,
    ) -> None:
        self.graph = graph
        self.name = graph.name
        self.grouping = grouping
        self.options = options
        self.steps = tuple(
            Step(group, kernel, _arguments(group, kernel))
            for group, kernel in zip(grouping.groups, kernels, strict=True)
        )
        if whole is not None:
            self.constants = whole.constants
        else:
            self.constants = {name: aligned_copy(a) for name, a in graph.constants.items()}
        #: numbers of the sizes that kernels take, by their names there
        self.sizes: Mapping[str, int] = {}
        self._lock = Lock()
        self._known: dict[tuple[int, ...], Model] = {}

    # -- sizes that are left open ---------------------------------------------------------------

    def at(self, **sizes: int) -> Model:
        """The model for these numbers of the sizes that its graph leaves open.

        Raises ``GraphError`` for sizes that are missing, not its own, or below 1.
        """
        graph = self.graph.at(**sizes)
        if graph is self.graph:
            return self
        key = tuple(sizes[name] for name in self.graph.open)
        with self._lock:
            found = self._known.pop(key, None)
            if found is None:
                kernels = [step.kernel for step in self.steps]
                found = Model(graph, self.grouping.of(graph), kernels, self.options, self)
                found.sizes = {o.symbol: sizes[n] for n, o in self.graph.open.items()}
            self._known[key] = found  # the latest last
            for old in list(self._known)[:-_MOST_KEPT]:
                del self._known[old]
        return found

    def _fitting(self, given: Mapping[str, Array]) -> Model:
        """The model for the sizes of these inputs. Raises ``ArgumentError`` where they differ."""
        found: dict[str, tuple[int, str]] = {}
        for value in self.graph.inputs:
            for extent, number in zip(value.shape, given[value.name].shape, strict=True):
                if not isinstance(extent, Open):
                    continue
                before, where = found.setdefault(extent.name, (number, value.name))
                if before != number:
                    raise ArgumentError(
                        f"{extent} is {before} in {where} and {number} in {value.name}"
                    )
        return self.at(**{name: number for name, (number, _) in found.items()})

    # -- where tensors are ----------------------------------------------------------------------

    @cached_property
    def _roots(self) -> Mapping[str, str]:
        """The tensor whose memory each tensor has: its own, or through views another's."""
        roots = {name: name for name in self.graph.names}
        for node in self.graph.nodes:
            if get_operator(node.op).is_view:
                roots[node.name] = roots[node.inputs[0]]
        return roots

    def root(self, name: str) -> str:
        """The tensor whose memory a tensor has: its own, or through views another's."""
        return self._roots[name]

    @cached_property
    def arena(self) -> Arena:
        """The plan of the memory for all computed tensors."""
        return plan_memory(self.lifetimes)

    @cached_property
    def lifetimes(self) -> Sequence[Lifetime]:
        """Computed tensors from their first step to their last; results live on."""
        first: dict[str, int] = {}
        last: dict[str, int] = {}
        for number, step in enumerate(self.steps):
            for name in step.group.outputs:
                first[name] = last[name] = number
            for name in step.group.inputs:
                last[self._roots[name]] = number
        for name in self.graph.outputs:
            last[self._roots[name]] = len(self.steps)
        values = self.graph.values
        return [Lifetime(n, values[n].bytes, first[n], last[n]) for n in first]

    @cached_property
    def _memory(self) -> Array:
        return empty((self.arena.bytes,), np.dtype(np.uint8))

    def _place(self, name: str, given: Mapping[str, Array]) -> Array:
        """The memory of a tensor, in its own shape."""
        root, value = self._roots[name], self.graph.values[name]
        if root == name and root in given:
            return given[root]
        if root in self.constants:
            return self.constants[root].reshape(value.shape)
        if root in given:
            return given[root].reshape(value.shape)
        start = self.arena.offsets[root]
        raw = self._memory[start : start + value.bytes]
        return raw.view(array_dtype(value.dtype)).reshape(value.shape)

    # -- calls ----------------------------------------------------------------------------------

    @cached_property
    def _bound(self) -> tuple[tuple[BoundKernel, tuple[tuple[str, str], ...]], ...]:
        """Each step's call, and which of its arguments the caller gives or gets."""
        stand_in = {v.name: empty(v.shape, array_dtype(v.dtype)) for v in self.graph.inputs}
        calls: list[tuple[BoundKernel, tuple[tuple[str, str], ...]]] = []
        for step in self.steps:
            arrays = {
                array: _as_array(self._place(name, stand_in))
                for array, name in step.arguments.items()
            }
            fed = tuple(
                (array, self._roots[name])
                for array, name in step.arguments.items()
                if self._roots[name] in stand_in or self._roots[name] in self._results
            )
            calls.append((step.kernel.kernel.bind(**cast("dict[str, Any]", arrays)), fed))
        return tuple(calls)

    def __call__(self, *args: Any, threads: int | None = None, **named: Any) -> Any:  # noqa: ANN401
        """Run the network.

        Raises ``ArgumentError`` for inputs that are missing or do not fit.
        """
        results = self.run(self._named(args, named), threads)
        return results[0] if len(results) == 1 else results

    def run(self, inputs: Mapping[str, object], threads: int | None = None) -> tuple[Array, ...]:
        """The outputs as a tuple, from inputs by name. Raises ``ArgumentError``."""
        given = self._given(inputs)
        if self.graph.open:
            return self._fitting(given).run(given, threads)
        places, addresses = dict(given), {n: address_of(a) for n, a in given.items()}
        for root, (shape, dtype, size) in self._results.items():
            places[root], addresses[root] = empty_at(shape, dtype, size)
        with self._lock:
            self._run(addresses, threads)
            return tuple([self._handed(name, places, own=own) for name, own in self._outputs])

    def _handed(self, name: str, places: Mapping[str, Array], *, own: bool) -> Array:
        """An output of a call: its own memory, or a copy of what others are in as well."""
        place = self._place(name, places)
        return place if own else place.copy()

    @cached_property
    def _outputs(self) -> tuple[tuple[str, bool], ...]:
        """The outputs, and whether each has memory that is made in each call, and no other's."""
        roots = [self._roots[name] for name in self.graph.outputs]
        return tuple(
            (name, root in self._results and root not in roots[:number])
            for number, (name, root) in enumerate(zip(self.graph.outputs, roots, strict=True))
        )

    @cached_property
    def _sequence(self) -> KernelSequence | None:
        """All steps as one call of C, where they can be."""
        if not self.calls or not may_dispatch(self.calls):
            return None
        fed = {(k, a): name for k, (_, own) in enumerate(self._bound) for a, name in own}
        return KernelSequence(self.calls, fed, cc=self.options.cc, cache=self.options.cache)

    @cached_property
    def _threaded(self) -> Kernel:
        """A kernel that can use several threads, or else the first one: others ignore how many
        there are."""
        kernels = [step.kernel.kernel for step in self.steps]
        return next((k for k in kernels if k.built.uses_openmp), kernels[0])

    def _run(self, addresses: Mapping[str, int], threads: int | None) -> None:
        """All steps, on inputs and outputs at addresses."""
        if self._sequence is not None:
            self._sequence(addresses, self._threaded.thread_count(threads))
            return
        self._let(addresses, threads)
        for call in self.calls:
            call()

    @cached_property
    def _results(self) -> Mapping[str, tuple[tuple[int, ...], np.dtype[Any], int]]:
        """Computed tensors that are outputs: steps write them where the caller gets them.

        Their shapes, types, and sizes in bytes.
        """
        roots = dict.fromkeys(self._roots[name] for name in self.graph.outputs)
        values = [self.graph.values[name] for name in roots if name in self.arena.offsets]
        return {v.name: (v.shape, array_dtype(v.dtype), v.bytes) for v in values}

    def prepare(self, given: Mapping[str, Array], threads: int | None) -> None:
        """Let the steps read these inputs and use so many threads.

        Outputs among ``given`` are written there, others into the arena.
        """
        roots = {name for _, fed in self._bound for _, name in fed}
        self._let({name: address_of(self._place(name, given)) for name in roots}, threads)

    def _let(self, addresses: Mapping[str, int], threads: int | None) -> None:
        """Let the steps read inputs and write outputs at addresses."""
        if not self.steps:
            return
        count = self._threaded.thread_count(threads)
        for call, fed in self._bound:
            call.set_threads(count)
            for array, name in fed:
                call.replace(array, addresses[name])

    def explain(self, *, counterfactuals: bool = True) -> NetworkExplanation:
        """Why the nodes are fused as they are: see ``explain_network``."""
        from polyopt.graph.reasons import explain_grouping

        if self.graph.open:
            usual = {name: int(size) for name, size in self.graph.open.items()}
            return self.at(**usual).explain(counterfactuals=counterfactuals)
        return explain_grouping(
            self.graph, self.grouping, self.options, counterfactuals=counterfactuals
        )

    @property
    def proof(self) -> NetworkProof:
        """What was shown of each kernel: of its plan, and of its C."""
        from polyopt.graph.execution.proof import NetworkProof

        return NetworkProof.of(self)

    def profile(
        self,
        *args: Any,  # noqa: ANN401
        threads: int | None = None,
        runs: int = 10,
        limit_ms: LimitMs | None = None,
        **named: Any,  # noqa: ANN401
    ) -> Profile:
        """Time each kernel on these inputs; on random ones where none are given.

        ``limit_ms`` is ``Machine.limit_ms``, for the fraction that each kernel reaches.
        Raises ``ArgumentError`` for inputs that do not fit.
        """
        from polyopt.graph.execution.profile import profile
        from polyopt.graph.execution.run import random_inputs

        given = self._given(self._named(args, named) or random_inputs(self.graph))
        fitting = self._fitting(given)
        with fitting._lock:  # noqa: SLF001  (a model of the same class)
            return profile(fitting, given, threads=threads, runs=runs, limit_ms=limit_ms)

    def export(self, directory: Path | str) -> Path:
        """Write the network as C that needs nothing else: ``make run`` there checks and times it.

        Each kernel's C, one function ``int net(weights, memory, in0, ..., out0, ..., threads)``
        with its header, ``weights.bin``, random inputs with the outputs of the plain network
        (``check.bin``), a ``main.c``, and a Makefile, which also makes a shared library.

        Raises ``InvalidOptionError`` when the directory cannot be written, and for a network that
        leaves sizes open: ``model.at(batch=1).export(...)`` has numbers for them.
        """
        from polyopt.graph.execution.export import export_model

        if self.graph.open:
            listed = ", ".join(self.graph.open)
            msg = f"{self.name} leaves {listed} open: its memory is planned for a number"
            raise InvalidOptionError(msg, hint="model.at(...).export(...), or --size NAME=NUMBER")
        return export_model(self, directory)

    def export_library(self, directory: Path | str) -> Path:
        """Write a C library: header, C, weights, ``CMakeLists.txt``, ``Makefile``, an example.

        ``NAME_open`` maps ``NAME.weights``, which all models on it share; ``NAME_run`` takes the
        sizes that the graph leaves open and each tensor with its number of elements, and returns a
        status, of which ``NAME_message`` tells. Memory between kernels is planned for the sizes.

        Raises ``InvalidOptionError`` when the directory cannot be written.
        """
        from polyopt.graph.execution.library import export_library

        return export_library(self, directory)

    def export_wheel(
        self,
        directory: Path | str,
        *,
        name: str | None = None,
        version: str = "1.0.0",
        openmp: bool = True,
    ) -> Path:
        """Write a wheel into a directory; its path. What is installed from it needs NumPy alone.

        Its module, called ``name`` or else as the network, has ``run`` and a class ``Model``. It is
        compiled for the target of this model: ``target="avx2"`` runs on most processors.
        ``openmp=False`` makes a library of one thread that needs no OpenMP.

        Raises ``InvalidOptionError`` for a name that is no module's or another's, for what is no
        version, and when the directory cannot be written; ``CompilerFailedError``.
        """
        from polyopt.graph.execution.library import export_wheel

        return export_wheel(self, directory, name, version, openmp=openmp)

    @property
    def calls(self) -> tuple[BoundKernel, ...]:
        """The steps as calls, on what ``prepare`` gave them."""
        return tuple(call for call, _ in self._bound)

    def _named(self, args: Sequence[object], named: Mapping[str, object]) -> dict[str, object]:
        """Inputs by name, from those by position and by name."""
        names = [v.name for v in self.graph.inputs]
        if len(args) > len(names):
            raise ArgumentError(f"{self.name} takes {len(names)} input(s), not {len(args)}",
                                notes=[f"they are: {self._listed()}"])  # fmt: skip
        twice = next((name for name in names[: len(args)] if name in named), None)
        if twice is not None:
            raise ArgumentError(f"{twice} is given twice: by position and by name")
        return {**dict(zip(names, args, strict=False)), **named}

    def _given(self, found: Mapping[str, object]) -> dict[str, Array]:
        """The inputs, checked."""
        names = self._inputs
        if names.keys() != found.keys():
            unknown = next((name for name in found if name not in names), None)
            if unknown is not None:
                raise ArgumentError(f"{self.name} has no input {unknown!r}",
                                    hint=f"it has: {self._listed()}")  # fmt: skip
            missing = next(v.name for v in self.graph.inputs if v.name not in found)
            raise ArgumentError(f"{self.name} needs {missing}", hint=f"it has: {self._listed()}")
        given = {name: each.checked(found[name]) for name, each in names.items()}
        for check in self._index_checks:
            _need_inside(check, given[check.name])
        return given

    @cached_property
    def _inputs(self) -> dict[str, Input]:
        return {value.name: Input(value) for value in self.graph.inputs}

    @cached_property
    def _index_checks(self) -> tuple[IndexCheck, ...]:
        return () if self.graph.open else index_checks(self.graph)

    def _listed(self) -> str:
        return ", ".join(f"{v.name}: {v}" for v in self.graph.inputs)

    def __repr__(self) -> str:
        """Name, inputs, and how many kernels run."""
        distinct = len({id(step.kernel) for step in self.steps})
        return f"<Model {self.name}({self._listed()}): {len(self.steps)} steps, {distinct} kernels>"

    def _repr_html_(self) -> str:
        from polyopt.graph.notebook import model_html

        return model_html(self)


def _arguments(group: Group, kernel: GroupKernel) -> dict[str, str]:
    return dict(
        zip(
            (*kernel.planned.inputs, *kernel.planned.outputs),
            (*group.inputs, *group.outputs),
            strict=True,
        )
    )


def _as_array(array: Array) -> Array:
    """Kernels keep a tensor without dimensions as an array of one element."""
    return array if array.ndim else array.reshape(1)


def _need_inside(check: IndexCheck, given: Array) -> None:
    """Raises ``ArgumentError`` for an index outside."""
    if (found := outside(check, given)) is not None:
        raise ArgumentError(f"{check.name} holds {found}: {check.node} takes {check.low} to"
                            f" {check.high} as indices")  # fmt: skip
