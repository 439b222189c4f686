"""Kernels called one after another by one call of C."""

from __future__ import annotations

import ctypes

import numpy as np
import pytest

from polyopt.errors import ArgumentError
from polyopt.graph import compile_graph, compile_model
from polyopt.graph.execution.dispatch import (
    MOST_ARGUMENTS,
    KernelSequence,
    dispatcher,
    may_dispatch,
)
from polyopt.graph.execution.run import random_inputs
from polyopt.graph.planning import Options
from polyopt.runtime.bound import BoundKernel
from polyopt.runtime.cache import KernelCache


def recorded(name, count, log, status=0):
    """A call of a C function that notes what it gets; its arguments are words 100, 101, ..."""
    kinds = [ctypes.c_void_p if n % 2 else ctypes.c_int64 for n in range(count)]
    given = [100 + n for n in range(count)]

    def note(*words):
        log.append((name, words))
        return status

    function = ctypes.CFUNCTYPE(ctypes.c_int, *kinds, ctypes.c_int)(note)
    slots = {f"a{n}": n for n in range(count) if n % 2}
    return BoundKernel(name, function, [*given, 0], slots, ())


def test_each_kernel_gets_its_own_words_in_order():
    """Of every number of arguments, with the threads last, and what is fed in its place."""
    log = []
    calls = [recorded(f"k{n}", n, log) for n in range(MOST_ARGUMENTS + 1)]
    assert may_dispatch(calls)
    fed = {(k, "a1"): "x" if k % 2 else "y" for k in range(2, len(calls))}
    KernelSequence(calls, fed)({"x": 7, "y": 8}, 3)
    for k, (name, words) in enumerate(log):
        expected = [100 + n for n in range(k)]
        if k >= 2:
            expected[1] = 7 if k % 2 else 8
        assert (name, words) == (f"k{k}", (*expected, 3))
    assert len(log) == len(calls)


def test_the_first_kernel_that_fails_ends_the_call():
    """It is named, and those behind it do not run."""
    log = []
    calls = [recorded("one", 1, log), recorded("two", 2, log, status=1), recorded("three", 1, log)]
    with pytest.raises(MemoryError, match="two could not allocate"):
        KernelSequence(calls, {})({}, 1)
    assert [name for name, _ in log] == ["one", "two"]


def test_a_kernel_s_own_status_is_told():
    log = []
    calls = [recorded("one", 1, log), recorded("two", 2, log, status=8)]
    with pytest.raises(ArgumentError, match="two found an element that chooses one outside"):
        KernelSequence(calls, {})({}, 1)


def test_other_arguments_are_for_python():
    """Too many, or passed otherwise than addresses."""
    assert not may_dispatch([recorded("many", MOST_ARGUMENTS + 1, [])])
    scalar = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_float, ctypes.c_int)(lambda *_: 0)
    assert not may_dispatch([BoundKernel("scalar", scalar, [1.0, 0], {}, ())])


def test_a_model_runs_alike_by_c_and_by_python(net, monkeypatch):
    """Every bit, for several inputs and numbers of threads."""
    made = net(3, 40)
    made.add("y", "relu", "x")
    made.add("z", "sigmoid", "y")
    made.add("sum", "add", "z", "x")
    graph = made.graph("sum", "y")
    by_c, by_python = (compile_model(graph, fusion="off") for _ in range(2))
    monkeypatch.setattr("polyopt.graph.execution.model.may_dispatch", lambda _: False)
    assert by_python._sequence is None
    monkeypatch.undo()
    assert by_c._sequence is not None
    for seed in range(3):
        given = random_inputs(graph, seed)
        for threads in (1, 2):
            for one, two in zip(by_c.run(given, threads), by_python.run(given, 1), strict=True):
                np.testing.assert_array_equal(one, two)


def test_it_is_compiled_where_the_kernels_are_and_before_the_first_call(net, monkeypatch, tmp_path):
    """With their compiler and in their cache: the user's own may have neither."""
    monkeypatch.setenv("POLYOPT_CACHE", str(tmp_path / "others"))
    dispatcher.cache_clear()
    made = net(2, 5)
    made.add("y", "relu", "x")
    own = KernelCache(tmp_path / "own")
    model = compile_graph(made.graph("y"), options=Options(cache=str(own.directory)))
    assert {entry.name for entry in own.list()} >= {"dispatch"}
    model.run(random_inputs(model.graph))
    assert KernelCache().list() == []
