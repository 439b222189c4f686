"""Sizes and random arrays to try a kernel on."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from polyopt.errors import ArgumentError, InvalidOptionError
from polyopt.ir.halves import narrowed
from polyopt.isl import sample
from polyopt.runtime.arrays import empty

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from polyopt.codegen.signature import Argument
    from polyopt.runtime.arrays import NumPyArray
    from polyopt.runtime.kernel import Kernel

#: For comparing results: odd and prime sizes first, they leave partial tiles.
SMALL = (67, 61, 53, 64, 48, 33, 32, 17, 16, 9, 8, 7, 5, 4, 3, 2, 1)
#: For timing: the largest that stays within the memory given.
LARGE = (4096, 2048, 1024, 512, 256, 128, 64, 32, 16, 8, 4, 2, 1)
_MOST_BYTES = 256 << 20


def choose_sizes(
    kernel: Kernel, given: Mapping[str, int], candidates: Sequence[int], *, limit: int = _MOST_BYTES
) -> dict[str, int]:
    """Sizes that the kernel accepts and whose arrays fit ``limit`` bytes together.

    Those given stay; the others are one candidate each, different where that is possible.
    Raises ``ArgumentError`` when those given cannot be completed.
    """
    params = kernel.program.params
    for start, value in enumerate(candidates):
        for spread in (1, 0):
            chosen = {
                p: candidates[min(start + i * spread, len(candidates) - 1)] if spread else value
                for i, p in enumerate(params)
            }
            chosen.update(given)
            if _accepted(kernel, chosen, limit):
                return chosen
    found = sample(kernel.context)
    smallest = dict(zip(params, found["params"], strict=False)) if found else {}
    smallest.update(given)
    kernel.shapes(**smallest)
    return smallest


def _accepted(kernel: Kernel, sizes: Mapping[str, int], limit: int) -> bool:
    try:
        shapes = kernel.shapes(**sizes)
    except ArgumentError:
        return False
    total = sum(
        a.type.bytes * int(np.prod(shapes[a.name], dtype=np.float64)) for a in kernel.arrays
    )
    return total <= limit and all(min(s, default=1) >= 1 for s in shapes.values())


def random_inputs(kernel: Kernel, sizes: Mapping[str, int], seed: int) -> dict[str, object]:
    """A value for every input: floats from 0 to 1, integers from 0 to 100, subscripts that are."""
    if seed < 0:
        raise InvalidOptionError(f"seed={seed} is no seed", hint="0 or more")
    generator = np.random.default_rng(seed)
    shapes = kernel.shapes(**sizes)
    result: dict[str, object] = {}
    for argument in kernel.arguments:
        if argument.kind == "scalar":
            result[argument.name] = _random(argument, (), generator)[()]
        elif argument.kind == "array" and argument.is_live_in:
            result[argument.name] = _random(argument, shapes[argument.name], generator)
    return result | _indices(kernel, shapes, generator)


def _indices(
    kernel: Kernel, shapes: Mapping[str, tuple[int, ...]], generator: np.random.Generator
) -> dict[str, object]:
    """Contents of index arrays: subscripts that are there, in order where they are ends."""
    result: dict[str, object] = {}
    by_name = {argument.name: argument for argument in kernel.arguments}
    for name in dict.fromkeys(found.array for found in kernel.program.indices):
        uses = [found for found in kernel.program.indices if found.array == name]
        extent = min(shapes[found.target][found.axis] for found in uses)
        dtype = by_name[name].type.dtype
        values = generator.integers(0, min(extent, by_name[name].type.range[1]), shapes[name])
        ordered = any(found.ordered for found in uses)
        array = empty(shapes[name], dtype)
        array[...] = np.sort(values, axis=None).reshape(shapes[name]) if ordered else values
        result[name] = array
    return result


def _random(
    argument: Argument, shape: tuple[int, ...], generator: np.random.Generator
) -> NumPyArray:
    dtype = argument.type.dtype
    array = empty(shape, dtype)
    if argument.type.is_half:
        array[...] = narrowed(argument.type, generator.random(shape, np.float32))
    elif argument.type.is_float:
        array[...] = generator.random(shape)
    else:
        array[...] = generator.integers(0, min(100, argument.type.range[1]), shape, endpoint=True)
    return array


def largest_difference(one: NumPyArray, other: NumPyArray) -> float:
    """The largest difference relative to the largest value; infinite where NaNs differ."""
    if one.dtype.kind != "f":
        return float(np.max(one.astype(np.float64) != other.astype(np.float64), initial=0.0))
    left, right = one.astype(np.float64), other.astype(np.float64)
    same = (left == right) | (np.isnan(left) & np.isnan(right))
    if not np.all(np.isfinite(left[~same])) or not np.all(np.isfinite(right[~same])):
        return float("inf")
    scale = float(np.max(np.abs(right[np.isfinite(right)]), initial=0.0)) or 1.0
    return float(np.max(np.abs(left[~same] - right[~same]), initial=0.0)) / scale


def verify(kernel: Kernel, seed: int, given: Mapping[str, int]) -> float:
    """See ``Kernel.verify``."""
    reference = kernel.reference
    if reference is None:
        msg = f"{kernel.name} was compiled without a reference program"
        raise InvalidOptionError(msg)
    sizes = choose_sizes(kernel, given, SMALL)
    results: list[tuple[NumPyArray, ...]] = []
    for run in (kernel, reference):
        inputs = random_inputs(kernel, sizes, seed)
        free = {p: sizes[p] for p in kernel.positional if p in sizes}
        found: NumPyArray | tuple[NumPyArray, ...] = run(**inputs, **free)
        results.append(found if isinstance(found, tuple) else (found,))
    return max(largest_difference(a, b) for a, b in zip(*results, strict=True))
