"""A function compiled for calls that are alike: its plan, its kernel, and what it returns."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from types import FunctionType
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from polyopt.errors import ArgumentError, NonAffineError
from polyopt.frontend.arrays import read_function
from polyopt.frontend.arrays.arguments import numpy_type
from polyopt.ir.types import BF16
from polyopt.isl import dim_type, exclusive, fix_param_values, params_of, parse_value
from polyopt.runtime.arrays import NumPyArray, empty
from polyopt.specialize.arguments import Call, described, plain
from polyopt.specialize.plans import planned
from polyopt.specialize.warmup import get_ready

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from polyopt.frontend.arrays import ReadFunction, Result, Returned
    from polyopt.isl import PwAff
    from polyopt.runtime.kernel import Kernel
    from polyopt.transform.plan import Plan


@dataclass(frozen=True)
class Options:
    """How functions are compiled."""

    target: str = "native"
    #: whether floating sums that the function writes as loops may be added up in any order
    reassociate: bool = False
    threads: int | None = None


@dataclass(frozen=True, eq=False)
class Program:
    """One specialisation of a function."""

    read: ReadFunction
    plan: Plan
    kernel: Kernel
    #: the sizes that the plan was made for: those of the call that it was compiled in
    sizes: Mapping[str, int]
    #: a size that is an expression of others: its factors by size, and a constant
    equalities: tuple[tuple[str, Mapping[str, int], int], ...]

    @cached_property
    def returned(self) -> Returned:
        """What the function returns."""
        return self.read.returned

    def admits(self, sizes: Mapping[str, int]) -> bool:
        """Whether it was compiled for sizes like these."""
        for name, factors, constant in self.equalities:
            if sizes[name] != constant + sum(sizes[p] * f for p, f in factors.items()):
                return False
        with exclusive():
            return not fix_param_values(self.kernel.context, sizes).is_empty()

    @property
    def is_current(self) -> bool:
        """Whether names from outside of the function still mean what they meant."""
        return all(_meaning(f, name, value) is value for f, name, value in self.read.seen)

    def run(self, call: Call, threads: int | None) -> object:
        """What the function returns for a call that it admits. Raises ``ArgumentError``."""
        sizes = {n: call.sizes[n] for n in self.kernel.positional if n in call.sizes}
        for array in self._written:
            if array in call.fixed:
                name = call.fixed[array]
                raise ArgumentError(f"{name} is written, but the array is read-only")
        made = self._made(call.sizes)
        found = self.kernel.run_named({**call.arrays, **made, **call.scalars, **sizes}, threads)
        names = [a.name for a in self.kernel.arrays if a.is_live_out]
        values = found if len(names) > 1 else (found,)
        outs = dict(zip(names, values if names else (), strict=True))
        outs |= {name: outs[name].view(numpy_type(BF16)) for name in self._bits}
        for name, original in call.copied.items():
            if name in outs:
                np.copyto(original, cast("NumPyArray", outs[name]))
        items = tuple(_returned(item, outs, call) for item in self.returned.items)
        return items if self.returned.is_tuple else items[0]

    def _made(self, sizes: Mapping[str, int]) -> dict[str, NumPyArray]:
        """New arrays that the function makes, and does not fill before it reads them."""
        names = [a.name for a in self.kernel.arrays if a.role == "inout" and a.name in self._new]
        if not names:
            return {}
        shapes = self.kernel.shapes(**{n: sizes[n] for n in self.kernel.program.params})
        types = {a.name: a.type.dtype for a in self.kernel.arrays}
        return {name: empty(shapes[name], types[name]) for name in names}

    @cached_property
    def _written(self) -> tuple[str, ...]:
        return tuple(a.name for a in self.kernel.arrays if a.is_live_out)

    @cached_property
    def _bits(self) -> frozenset[str]:
        """New arrays of bfloat16, which kernels make as arrays of their bits."""
        return frozenset(a.name for a in self.kernel.arrays if a.type == BF16) & self._new

    @cached_property
    def _new(self) -> frozenset[str]:
        return frozenset(item.name for item in self.returned.items if item.kind != "argument")


def _returned(item: Result, outs: Mapping[str, Any], call: Call) -> object:
    match item.kind:
        case "argument":
            return call.objects[item.name]
        case "array":
            return outs[item.name]
        case "complex array":
            return _of_pairs(outs[item.name])
        case "complex number":
            return _of_pairs(outs[item.name])[()]
        case "complex python":
            return _of_pairs(outs[item.name])[()].item()
        case "number":
            return outs[item.name][()]
        case "python":
            return outs[item.name].item()
        case _:
            return item.value


def _of_pairs(parts: Any) -> Any:  # noqa: ANN401
    """An array whose last axis is real and imaginary part, as one of complex numbers."""
    return parts.view(np.result_type(parts.dtype, np.complex64))[..., 0]


def compiled(function: Callable[..., object], call: Call, options: Options) -> Program:
    """The function compiled for calls like one. Raises a ``UserError`` for what is not taken."""
    get_ready(options.target)
    read = read_function(function, plain(call.given), call.sizes)
    sizes = {name: call.sizes[name] for name in read.sizes.params}
    reassociate = options.reassociate or not read.has_own_updates
    plan = planned(read.scop, sizes, options.target, reassociate=reassociate)
    kernel = plan.compile(target=options.target, check="later")
    with exclusive():
        equalities = tuple(
            (name, *_linear(parse_value(read.sizes.params, text)))
            for name, text in read.sizes.texts.items()
        )
    return Program(read, plan, kernel, sizes, equalities)


def specialised(
    function: Callable[..., object], objects: Mapping[str, object], options: Options
) -> tuple[Call, Program]:
    """A call and a program for it: integers are sizes, or, where that is not affine, constants.

    Raises a ``UserError`` for what is not taken.
    """
    call = described(objects)
    try:
        return call, compiled(function, call, options)
    except NonAffineError:
        if not call.given.sizes:
            raise
    call = described(objects, constant_sizes=True)
    return call, compiled(function, call, options)


def _linear(form: PwAff | None) -> tuple[dict[str, int], int]:
    assert form is not None
    aff = form.as_aff()
    names = params_of(form.get_domain_space())
    factors = {
        name: aff.get_coefficient_val(dim_type.param, k).to_python() for k, name in enumerate(names)
    }
    return {n: f for n, f in factors.items() if f}, aff.get_constant_val().to_python()


def _meaning(origin: object, name: str, default: object) -> object:
    """What a name means to a function or in a module now; ``default`` where it is a builtin."""
    if not isinstance(origin, FunctionType):
        return getattr(origin, name, default)
    free = origin.__code__.co_freevars
    if name in free and origin.__closure__ is not None:
        return origin.__closure__[free.index(name)].cell_contents
    return origin.__globals__.get(name, default)
