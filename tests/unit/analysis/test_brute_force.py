"""Dependences, counted out: run the instances, remember who touched what, compare."""

from __future__ import annotations

from collections import defaultdict

import numpy as np
import pytest

from polyopt.analysis.dependences import dependences
from polyopt.analysis.interpreter.interpret import Instance, Memory, run_instances, source_order
from polyopt.ir import build
from polyopt.ir.scop import Loop
from polyopt.ir.types import F32
from polyopt.isl import dim_type, fix_param_values, maps_of, tuple_name


def touched(scop, params):
    """Per instance in order: the elements it reads, and the one it writes."""
    order = source_order(scop, params)
    reads, writes = defaultdict(set), {}

    def note(ref, cell, instance):
        if ref.endswith("_w"):
            writes[instance] = cell
        else:
            reads[instance].add(cell)
        return cell

    # Larger than any of the programs: only where they go counts.
    roomy = Memory({a.name: np.ones([20] * a.rank, np.float32) for a in scop.arrays})
    run_instances(scop, order, params, roomy, note)
    return [(instance, reads[instance], writes[instance]) for instance in order]


def counted(scop, params):
    """All dependences as sets of pairs of instances."""
    found = defaultdict(set)
    writer, readers = {}, defaultdict(set)
    all_writers, all_readers = defaultdict(list), defaultdict(list)
    for instance, reads, write in touched(scop, params):
        for cell in reads:
            if cell in writer:
                found["flow"].add((writer[cell], instance))
            found["memory_flow"] |= {(w, instance) for w in all_writers[cell]}
            readers[cell].add(instance)
            all_readers[cell].append(instance)
        if write in writer:
            found["value_output"].add((writer[write], instance))
        found["value_anti"] |= {(r, instance) for r in readers[write] if r != instance}
        found["output"] |= {(w, instance) for w in all_writers[write]}
        found["anti"] |= {(r, instance) for r in all_readers[write] if r != instance}
        writer[write] = instance
        readers[write] = set()
        all_writers[write].append(instance)
    return found, writer


def listed(relation, params):
    """The pairs of a relation for the given sizes."""
    pairs = set()
    for part in maps_of(relation):
        ends = [(tuple_name(part, kind), part.dim(kind)) for kind in (dim_type.in_, dim_type.out)]
        flat = fix_param_values(part.wrap().flatten(), params)

        def note(point, ends=ends, flat=flat):
            numbers = [
                point.get_coordinate_val(dim_type.set, k).to_python()
                for k in range(flat.dim(dim_type.set))
            ]
            depth = ends[0][1]
            pairs.add(
                (
                    Instance(ends[0][0], tuple(numbers[:depth])),
                    Instance(ends[1][0], tuple(numbers[depth:])),
                )
            )

        flat.foreach_point(note)
    return pairs


def in_place_stencil(program):
    p = program("N")
    p.array("a", "N", role="inout")
    p.statement(
        "a", "t, i", "0 <= t < 3 and 1 <= i < N - 1", "a: i",
        lambda b: b.sum("a: i - 1", "a: i", "a: i + 1"),
    )  # fmt: skip
    return p.scop(Loop("t", (Loop("i", ("a",), -1),)), context="N >= 3")


def ring(program):
    p = program("N")
    p.array("x", "N")
    p.array("r", 3, role="temp")
    p.array("y", "N", role="out")
    p.statement("r", "i", "0 <= i < N", "r: i mod 3", lambda b: b.load("x: i"))
    p.statement("y", "i", "2 <= i < N", "y: i", lambda b: b.sum("r: (i - 2) mod 3", "r: i mod 3"))
    return p.scop(Loop("i", ("r", "y")), context="N >= 1")


def strided(program):
    p = program("N")
    p.array("a", "2 * N", role="inout")
    p.statement("a_0", "i", "0 <= i < N and i mod 2 = 0", "a: i", lambda b: build.const(F32, 1))
    p.statement(
        "a_1", "i, j", "0 <= i < N and i <= j < N", "a: i + j", lambda b: b.sum("a: j", "a: i")
    )
    p.statement("a_2", "i", "0 <= i < N", "a: N - 1 - i", lambda b: b.load("a: floor(i / 2)"))
    nest = Loop("i", ("a_0", Loop("j", ("a_1",)))), Loop("i", ("a_2",))
    return p.scop(*nest, context="N >= 1")


def diagonal(program):
    p = program("N")
    p.array("a", "N", "N", role="inout")
    p.statement(
        "a", "i, j", "1 <= i < N and 1 <= j < N and (i + j) mod 2 = 0", "a: i, j",
        lambda b: b.sum("a: i - 1, j - 1", "a: i, j", "a: j, i"),
    )  # fmt: skip
    return p.scop(Loop("i", (Loop("j", ("a",)),)), context="N >= 1")


KINDS = ("flow", "value_anti", "value_output", "memory_flow", "anti", "output")


@pytest.mark.parametrize("make", [in_place_stencil, ring, strided, diagonal])
@pytest.mark.parametrize("size", [3, 4, 7])
def test_made_up_programs(program, make, size):
    compare(make(program), {"N": size})


@pytest.mark.parametrize(
    ("name", "params"),
    [
        ("blur", {"H": 5, "W": 4}),
        ("conv", {"H": 4, "W": 5}),
        ("jacobi", {"T": 3, "N": 6}),
        ("triangular", {"N": 5}),
    ],
)
def test_usual_programs(name, params, request):
    compare(request.getfixturevalue(name), params)


def compare(scop, params):
    deps = dependences(scop)
    found, last = counted(scop, params)
    for kind in KINDS:
        assert listed(getattr(deps, kind), params) == found[kind], kind
    kept = {
        (instance, cell) for cell, instance in last.items() if scop.array(cell.array).is_live_out
    }
    assert listed(deps.live_out, params) == {
        (instance, Instance(cell.array, cell.subscripts)) for instance, cell in kept
    }
