"""A kernel for boxes of a kernel's results: the subdomain, planned alike, proven and compiled."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

from polyopt.analysis.sets.points import parameter_value
from polyopt.arguments import checks_arguments, checks_methods
from polyopt.errors import InvalidOptionError, NotCutError, NotDecidedError, UserError
from polyopt.ir.scop import Scop
from polyopt.isl import budget, dim_type, params_of
from polyopt.memo import memo
from polyopt.runtime.kernel import Kernel
from polyopt.scheduler import auto
from polyopt.transform.plan import Plan
from polyopt.transform.schedule.registry import registered
from polyopt.transform.subdomain.proof import prove_subdomain
from polyopt.transform.subdomain.subdomain import Subdomain, cuttable, subdomain

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from polyopt.analysis.dependences import Dependences
    from polyopt.isl import PwAff

    Number = Callable[[Mapping[str, int]], int]

#: isl operations for finding what a box needs
_BUDGET = 100_000_000
#: and for their plan
_PLAN_BUDGET = 400_000_000
#: moves that sweep over steps in time
_IN_TIME = frozenset({"reschedule", "skew", "diamond"})


@dataclass(frozen=True)
class Place:
    """Where an array's slab lies for one box: positions in the whole array; may stick out."""

    begin: tuple[int, ...]
    shape: tuple[int, ...]

    def clipped(self, whole: Sequence[int]) -> tuple[tuple[slice, ...], tuple[slice, ...]]:
        """What of the slab exists: as a part of the whole array, and as a part of the slab."""
        outer: list[slice] = []
        inner: list[slice] = []
        for first, count, extent in zip(self.begin, self.shape, whole, strict=True):
            low, high = max(first, 0), min(first + count, extent)
            high = max(low, high)
            outer.append(slice(low, high))
            inner.append(slice(low - first, high - first))
        return tuple(outer), tuple(inner)


@checks_methods
@dataclass(frozen=True, eq=False)
class Cut:
    """A kernel that computes any box of some results of another kernel.

    ``print`` shows what a box reads of each input: the halo, as it was derived.
    """

    subdomain: Subdomain
    plan: Plan
    kernel: Kernel
    remarks: tuple[str, ...] = ()

    @property
    def unit(self) -> int:
        """What corners of boxes are multiples of."""
        return max((axis.unit for axis in self.subdomain.axes), default=1)

    @property
    def outputs(self) -> tuple[str, ...]:
        """The results of which it computes a box."""
        return self.subdomain.outputs

    def sizes(
        self, whole: Mapping[str, int], first: Sequence[int], count: Sequence[int]
    ) -> dict[str, int]:
        """The values of all parameters but the spans, for a box at ``first``.

        Corners are multiples of ``unit``.
        """
        result = dict(whole)
        for axis in self.subdomain.axes:
            result[axis.first] = first[axis.dim] // axis.unit
            result[axis.count] = count[axis.dim]
        return result

    def extent(self, whole: Mapping[str, int]) -> tuple[int, ...]:
        """The shape of the results."""
        return tuple(f(whole) for f in self._extent)

    @cached_property
    def _extent(self) -> list[Number]:
        return [number_of(f) for f in self.subdomain.whole.array(self.outputs[0]).extents]

    def places(self, sizes: Mapping[str, int]) -> dict[str, Place]:
        """Where the slab of each argument lies."""
        return {
            name: Place(tuple(f(sizes) for f in offset), tuple(f(sizes) for f in extents))
            for name, (offset, extents) in self._places.items()
        }

    @cached_property
    def _places(self) -> dict[str, tuple[list[Number], list[Number]]]:
        return {
            name: ([number_of(f) for f in slab.offset], [number_of(f) for f in slab.extents])
            for name, slab in self.subdomain.slabs.items()
            if self.subdomain.scop.array(name).role != "temp"
        }

    def slab_bytes(self, sizes: Mapping[str, int]) -> dict[str, int]:
        """Bytes of each argument's slab."""
        items = {a.name: a.type.dtype.itemsize for a in self.kernel.arrays}
        places = self.places(sizes)
        return {n: math.prod(places[n].shape) * size for n, size in items.items()}

    def workspace_bytes(self, sizes: Mapping[str, int]) -> int:
        """Bytes that the kernel allocates for a box, with one thread."""
        return sum(
            size * math.prod(max(1, f(sizes)) for f in extents) for extents, size in self._buffers
        )

    @cached_property
    def _buffers(self) -> list[tuple[tuple[Number, ...], int]]:
        program = self.plan.program
        stored = {t.access.array for t in (*program.reads, *program.writes) if t.scratch is None}
        arrays = [a for a in program.scop.arrays if a.role == "temp" and a.name in stored]
        found = [(a.extents, a.type.bytes) for a in arrays]
        for scratch in program.scratches:
            size = program.scop.array(scratch.array).type.bytes
            found.append((tuple(scratch.extents), size))
        return [(tuple(number_of(f) for f in extents), size) for extents, size in found]

    def __str__(self) -> str:
        """What a box reads."""
        subdomain = self.subdomain
        axes = ", ".join(f"{a.first} .. {a.first} + {a.count} - 1" for a in subdomain.axes)
        lines = [f"a box of {', '.join(self.outputs)}: {axes or 'all of it'}"]
        for argument in self.kernel.arrays:
            slab = subdomain.slabs[argument.name]
            parts = [
                "all" if whole else f"{_text(begin)} .. {_text(begin)} + {_text(extent)} - 1"
                for whole, begin, extent in zip(slab.whole, slab.offset, slab.extents, strict=True)
            ]
            verb = "reads" if argument.role == "in" else "works on"
            lines.append(f"  {verb} {argument.name}[{', '.join(parts)}]")
        return "\n".join(lines)


def _text(form: PwAff) -> str:
    from polyopt.ir.text import affine_text

    text = affine_text(form, ())
    return f"({text})" if " " in text else text


def number_of(form: PwAff) -> Number:
    """An expression of parameters as a function of their values: thousands of boxes ask."""
    aff = form.as_aff() if form.isa_aff() else None
    if aff is None or aff.dim(dim_type.div) or not aff.get_denominator_val().is_one():
        return lambda sizes: parameter_value(form, sizes)
    constant = aff.get_constant_val().to_python()
    names = params_of(aff.get_domain_space())
    factors = [aff.get_coefficient_val(dim_type.param, k).to_python() for k in range(len(names))]
    terms = [(name, factor) for name, factor in zip(names, factors, strict=True) if factor]
    return lambda sizes: constant + sum(factor * sizes[name] for name, factor in terms)


@checks_arguments
def cuts(kernel: Kernel | Plan | Scop) -> tuple[Cut, ...]:
    """Kernels for boxes of a kernel's results, one for all results of one shape.

    Each serves every box of arrays of every size. It runs the moves of the kernel's own plan
    where they are legal for a box, else those of an automatic one. Raises ``NotCutError`` or
    ``NotDecidedError``.
    """
    return _cuts(as_kernel(kernel))


@memo
def _cuts(kernel: Kernel) -> tuple[Cut, ...]:
    deps = dependences_of(kernel)
    return tuple(cut(kernel, deps, group) for group in _groups(deps.scop))


@memo
def fine_cuts(kernel: Kernel) -> tuple[Cut, ...]:
    """As ``cuts``, cut along every dimension that can be, however short."""
    deps = dependences_of(kernel)
    return tuple(
        cut(kernel, deps, group, dims=cuttable(deps.scop, group[0])) for group in _groups(deps.scop)
    )


@memo
def dependences_of(kernel: Kernel) -> Dependences:
    """The dependences of a kernel's program. Raises ``NotCutError`` where it has none."""
    if kernel.plan is None:
        raise NotCutError(
            f"{kernel.name} does not say which program it was compiled from",
            hint="pass the kernel that plan.compile() returned, or the plan",
        )
    return kernel.plan.scop.dependences()


def as_kernel(program: Kernel | Plan | Scop) -> Kernel:
    """A kernel from what stands for one. Raises ``InvalidOptionError``."""
    if isinstance(program, Kernel):
        return program
    if isinstance(program, Plan):
        return program.compile()
    if isinstance(program, Scop):
        return auto(program).compile()
    raise InvalidOptionError(
        f"a {type(program).__name__} is no kernel", hint="pass a Kernel, a Plan or a Scop"
    )


def _groups(scop: Scop) -> list[tuple[str, ...]]:
    """The results, those of one shape together."""
    groups: list[list[str]] = []
    for array in scop.arrays:
        if not array.is_live_out:
            continue
        for group in groups:
            first = scop.array(group[0])
            if first.rank == array.rank and all(
                a.is_equal(b)
                for a, b in zip(
                    (*first.extents, *first.lower), (*array.extents, *array.lower), strict=False
                )
            ):
                group.append(array.name)
                break
        else:
            groups.append([array.name])
    return [tuple(group) for group in groups]


def cut(
    kernel: Kernel,
    deps: Dependences,
    outputs: Sequence[str],
    *,
    dims: Sequence[int] | None = None,
) -> Cut:
    """The subdomain for a box of ``outputs``, proven, planned as the kernel is, and compiled."""
    with budget(_BUDGET, f"what a box of {', '.join(outputs)} needs"):
        found = subdomain(deps, outputs, dims=dims)
    prove_subdomain(found, deps)
    assert kernel.plan is not None
    plan, remarks = _planned(found, kernel.plan, kernel)
    built = kernel.built
    compiled = plan.compile(
        target=built.target,  # type: ignore[arg-type]
        cc=" ".join(built.toolchain.command),
        openmp=None if built.uses_openmp else False,
        contract=built.contract,
        cache=built.cache.directory,
    )
    return Cut(found, plan, compiled, remarks)


def _planned(found: Subdomain, plan: Plan, kernel: Kernel) -> tuple[Plan, tuple[str, ...]]:
    """The moves of the whole program's plan on the subdomain, else an automatic plan."""
    what = f"a plan for boxes of {', '.join(found.outputs)}"
    result = replace(Plan(found.scop), checked=False)
    in_time = next((m.name for m in plan.moves if m.name in _IN_TIME), None)
    try:
        if in_time:
            raise InvalidOptionError(
                f"boxes shrink from step to step, which {in_time} does not see"
            )
        with budget(_PLAN_BUDGET, what):
            for move in plan.moves:
                if registered(move.name).kind == "source":
                    continue  # the subdomain is one of the program that these have changed
                result = result.replay(move.name, move.args, dict(move.options))
            result = replace(result, checked=True)
            result.prove()
    except (UserError, NotDecidedError) as error:
        remark = f"the kernel's own plan does not hold for boxes: {error.diagnostic.message}"
        with budget(_PLAN_BUDGET, what):
            other = auto(found.scop, target=kernel.built.target, tile=not in_time)
        return other, (remark,)
    return result, ()
