"""Every program of the field, by the automatic plan and as written, against its reference."""

from __future__ import annotations

import inspect
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from types import SimpleNamespace

import numpy as np
import pytest

import polyopt as po
from polyopt.bench.peers.modules import MODULES
from polyopt.bench.suites import FIELD, members
from polyopt.transform.plan import Plan
from tests.oracle.agreement import assert_agree, outputs_of
from tests.oracle.kernels import grouped, load_kernel

NAMES = members(FIELD)
VARIANTS = [(name, variant) for name in NAMES for variant in ("unfused", "auto")]
PURPOSES = ("test", "tiny")
#: statements from which blocks of rows take longer to print than a test should
LARGE = 10
#: numba's decorator and loop as plain Python has them: what a peer's loops compute shows without it
PLAIN_NUMBA = SimpleNamespace(njit=lambda **_options: lambda function: function, prange=range)


@cache
def given(name, purpose):
    kernel = load_kernel(name)
    sizes = kernel.sizes[purpose]
    return sizes, kernel.inputs(sizes, np.random.default_rng(7))


def copied(arguments):
    return {n: np.array(v) if np.ndim(v) else v for n, v in arguments.items()}


@cache
def referred(name, purpose):
    """What the reference computes; it leaves what it is given as it was."""
    sizes, arguments = given(name, purpose)
    before = copied(arguments)
    expected = load_kernel(name).reference(**arguments, **sizes)
    for argument, values in arguments.items():
        np.testing.assert_array_equal(values, before[argument])
    return expected


def planned(kernel, variant):
    if variant == "unfused":
        return Plan(kernel.scop)
    tile = len(kernel.scop.statements) < LARGE
    return po.auto(kernel.scop, sizes=kernel.sizes["bench"], tile=tile)


@pytest.mark.parametrize(("name", "variant"), grouped(VARIANTS))
def test_a_program_of_the_field_computes_its_reference(name, variant):
    kernel = load_kernel(name)
    function = planned(kernel, variant).compile()
    for purpose in PURPOSES:
        sizes, arguments = given(name, purpose)
        for threads in (1, 2):
            result = function(**copied(arguments), **sizes, threads=threads)
            found = outputs_of(function, result)
            assert sorted(found) == sorted(referred(name, purpose))
            assert_agree(referred(name, purpose), found, (purpose, threads))


@pytest.mark.parametrize("name", grouped(NAMES))
def test_a_program_of_the_field_has_the_form_of_a_kernel(name):
    kernel = load_kernel(name)
    assert kernel.scop.name == name
    assert set(kernel.sizes) == {"bench", "demo", "test", "tiny"}
    assert all(tuple(sizes) == kernel.scop.params for sizes in kernel.sizes.values())
    assert "Class: " in kernel.module.__doc__


@pytest.mark.parametrize("name", grouped(NAMES))
def test_another_input_has_another_result(name):
    kernel, expected = load_kernel(name), referred(name, "test")
    sizes = kernel.sizes["test"]
    other = kernel.reference(**kernel.inputs(sizes, np.random.default_rng(8)), **sizes)
    with pytest.raises(AssertionError):
        assert_agree(expected, other, name)


@pytest.mark.parametrize("name", grouped(NAMES))
def test_peers_compute_the_same(name):
    """Those that are installed; numba's loops in any case."""
    makers = {p: m for p in MODULES if (m := getattr(load_kernel(name).module, p, None))}
    sizes, arguments = given(name, "test")
    for peer, make in makers.items():
        assert set(arguments) < set(inspect.signature(make).parameters)
        if peer != "numba" and not find_spec(MODULES[peer]):
            continue
        library = PLAIN_NUMBA if peer == "numba" else import_module(MODULES[peer])
        call = make(library, **copied(arguments), **sizes)
        expected = referred(name, "test")
        for _ in range(2):
            found = call()
            assert sorted(found) == sorted(expected)
            assert_agree(expected, found, peer)
