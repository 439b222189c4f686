"""Every kernel, as it stands, by the automatic plan and by its recipe, against its NumPy reference."""

from __future__ import annotations

import os
import shlex
from dataclasses import replace
from functools import lru_cache

import numpy as np
import pytest

from polyopt.analysis.interpreter.interpret import interpret
from polyopt.errors import CompilerFailedError
from polyopt.isl import fix_param_values
from polyopt.runtime.kernel import compile_kernel
from tests.compilers import NO_WARNING, OWN
from tests.oracle.agreement import assert_agree, outputs_of
from tests.oracle.kernel_sizes import elements, interpreted
from tests.oracle.kernels import KERNELS, RECIPES, emitted, grouped, load_kernel, plan_of

VARIANTS = [
    (name, variant)
    for name in KERNELS
    for variant in ("unfused", "auto", *(["expert"] if name in RECIPES else []))
]

#: elements of all arrays together, beyond which a size is left to the benchmarks
MOST_ELEMENTS = 9_000_000
MOST_SIZES = 12
#: elements at all sizes of a kernel together
MOST_IN_ALL = 30_000_000
#: sizes that all plans of a kernel run at, whatever their tiles
COMMON = 6
#: elements beyond which results are not kept for the next plan
MOST_KEPT = 1_000_000

#: the machine's own compiler, which has nothing to say of them; or the one that is asked for
OWN_STRICT = shlex.join((OWN, *NO_WARNING))
CC = None if "POLYOPT_CC" in os.environ else OWN_STRICT


def compiled(name: str, variant: str):
    return compile_kernel(emitted(name, variant), load_kernel(name).scop.context, cc=CC)


def is_allowed(scop, sizes):
    return not fix_param_values(scop.context, sizes).is_empty()


def least_sizes(scop, start):
    """Every size as small as the program takes it, the others being what they are."""
    sizes = dict(start)
    for name in sizes:
        sizes[name] = next(n for n in range(1, 1000) if is_allowed(scop, {**sizes, name: n}))
    return sizes


def tiles_of(plan):
    """The sizes of tiles and blocks in a plan, by the name of the iterator."""
    found: dict[str, set[int]] = {}
    for move in plan.moves:
        if move.name == "tile":
            for iterator, size in move.options:
                found.setdefault(iterator, set()).add(size)
        if move.name in {"split", "unroll", "unroll_and_jam"}:
            found.setdefault(move.args[0].rpartition(".")[2], set()).add(move.args[1])
    return found


def odd_sizes(name, plan):
    """Sizes at which blocks are partial, single, just full, and just more than full."""
    kernel = load_kernel(name)
    scop = kernel.scop
    test = dict(kernel.sizes["test"])
    least = least_sizes(scop, test)
    found = [dict(kernel.sizes["tiny"]), test, least]
    found += [{n: low + extra for n, low in least.items()} for extra in (1, 6, 12)]
    tiles = sorted({size for sizes in tiles_of(plan).values() for size in sizes if size > 1})
    for tile in tiles:
        for near in (-1, 0, 1):
            # the loop that is tiled runs as often as its size is above the least one
            longer = {n: low - 1 + tile + near for n, low in least.items()}
            found.append(longer)
            found += [{**test, n: longer[n]} for n in longer]
    kept: list[dict[str, int]] = []
    for sizes in found:
        fits = is_allowed(scop, sizes) and min(sizes.values()) > 0
        if fits and sizes not in kept and elements(kernel, sizes) <= MOST_ELEMENTS:
            kept.append(sizes)
    return affordable(kernel, spread(kept))


def affordable(kernel, sizes):
    """The first four, and as many more as ``MOST_IN_ALL`` allows."""
    total, kept = 0, []
    for each in sizes:
        total += elements(kernel, each)
        if len(kept) >= 4 and total > MOST_IN_ALL:
            break
        kept.append(each)
    return kept


def spread(sizes):
    """The first ones, and as many of the others as there may be, evenly."""
    first, rest = sizes[:COMMON], sizes[COMMON:]
    step = max(1, len(rest) // (MOST_SIZES - COMMON))
    return first + rest[::step]


@lru_cache(COMMON)
def referred(name, number, *sizes):
    """What the reference makes of the inputs of that number: all plans of a kernel ask for it."""
    kernel, sizes = load_kernel(name), dict(sizes)
    arrays = kernel.inputs(sizes, np.random.default_rng(number))
    return kernel.reference(**arrays, **sizes)


@pytest.mark.parametrize(("name", "variant"), grouped(VARIANTS))
def test_compiled_kernels_compute_their_reference(name, variant):
    kernel, function = load_kernel(name), compiled(name, variant)
    for number, sizes in enumerate(odd_sizes(name, plan_of(name, variant))):
        arrays = kernel.inputs(sizes, np.random.default_rng(number))
        known = number < COMMON and elements(kernel, sizes) <= MOST_KEPT
        expected = (referred if known else referred.__wrapped__)(name, number, *sizes.items())
        for threads in (1, 2):
            given = {n: np.array(v) if np.ndim(v) else v for n, v in arrays.items()}
            result = function(**given, **sizes, threads=threads)
            assert_agree(expected, outputs_of(function, result), (sizes, threads))


def test_a_warning_is_a_failure():
    program = emitted("blur", "unfused")
    program = replace(program, source=f"static int never;\n{program.source}")
    with pytest.raises(CompilerFailedError) as told:
        compile_kernel(program, load_kernel("blur").scop.context, cc=OWN_STRICT)
    assert "never" in str(told.value)


@pytest.mark.parametrize("name", grouped(interpreted()))
def test_the_interpreter_computes_the_reference_at_the_least_sizes(name):
    kernel = load_kernel(name)
    sizes = least_sizes(kernel.scop, kernel.sizes["test"])  # others: test_references
    arrays = kernel.inputs(sizes, np.random.default_rng(3))
    expected = kernel.reference(**arrays, **sizes)
    assert_agree(expected, interpret(kernel.scop, sizes, arrays), sizes)


@pytest.mark.parametrize("name", grouped(KERNELS))
def test_sizes_are_odd_enough(name):
    plan = plan_of(name, "auto")
    sizes = odd_sizes(name, plan)
    assert len(sizes) >= 4
    assert least_sizes(load_kernel(name).scop, load_kernel(name).sizes["test"]) in sizes
