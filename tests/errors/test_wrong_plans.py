"""The seven wrong plans: each is refused with witnesses, and a run confirms what they say.

The refused plan is built all the same, without checks, and run by an executor that knows
nothing of the proof (tests/oracle/transformed.py). At the witness's own sizes it computes
something else, and the two instances clash as the witness says.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import pytest

import polyopt as po
from polyopt.analysis.interpreter.interpret import interpret
from polyopt.errors import (
    IllegalScheduleError,
    LiveOutError,
    NotPermutableError,
    OrderViolatedError,
    ParallelCarriedError,
    StorageTooSmallError,
    VectorCarriedError,
)
from polyopt.transform.schedule.tree import without
from tests.oracle.transformed import (
    random_arrays,
    run_plan,
    sources_of_plan,
    sources_of_source,
    touched,
)

if TYPE_CHECKING:
    from collections.abc import Callable

BLUR = """\
void blur(int H, int W, const float img[H][W], float out[H - 2][W - 2])
{
    float bx[H][W - 2];
    for (int y = 0; y < H; y++)
        for (int x = 0; x < W - 2; x++)
            bx[y][x] = img[y][x] + img[y][x + 1] + img[y][x + 2];
    for (int y = 0; y < H - 2; y++)
        for (int x = 0; x < W - 2; x++)
            out[y][x] = bx[y][x] + bx[y + 1][x] + bx[y + 2][x];
}
"""
BLUR_KEPT = BLUR.replace("    float bx[H][W - 2];\n", "").replace(
    "float out[", "float bx[H][W - 2], float out["
)
DIAGONAL = """\
void diagonal(int N, float a[N][N])
{
    for (int i = 1; i < N; i++)
        for (int j = 0; j < N - 1; j++)
            a[i][j] = a[i - 1][j + 1] + 1;
}
"""
LAG = """\
void lag(int N, float a[N])
{
    for (int i = 3; i < N; i++)
        a[i] = a[i - 3] * 2;
}
"""


def dropped(plan: po.Plan) -> po.Plan:
    """Fuse ``bx`` and remove its own loops by hand: no move does this to a result."""
    fused = plan.tile("out", y=4).fuse("bx", into="out")
    program = fused.program
    copies = {name: copy for name, copy in program.copies.items() if name != "bx"}
    tree = without(program.tree, {"bx"})
    return replace(fused, program=replace(program, copies=copies, tree=tree))


def sliding(plan: po.Plan) -> po.Plan:
    return plan.fuse("bx", into="out", storage="sliding")


def tiled(plan: po.Plan) -> po.Plan:
    return plan.tile("out", y=4, x=8).fuse("bx", into="out")


@dataclass(frozen=True)
class Wrong:
    """A wrong plan, what refuses it, what stands in the message, and legal plans close to it."""

    name: str
    text: str
    make: Callable[[po.Plan], po.Plan]
    error: type[IllegalScheduleError]
    says: str
    legal: tuple[Callable[[po.Plan], po.Plan], ...]
    #: makes the plan although it is wrong, where leaving checks out is not enough
    anyway: Callable[[po.Plan], po.Plan] | None = None


WRONG = (
    Wrong(
        "a fold of 2 where 3 rows are read",
        BLUR,
        lambda p: sliding(p).store("bx", fold={"y": 2}),
        StorageTooSmallError,
        "a value of bx is overwritten in",
        (
            lambda p: sliding(p).store("bx", fold={"y": 3}),
            lambda p: sliding(p).store("bx", fold={"y": 4}),
        ),
    ),
    Wrong(
        "a shift of 1 where 2 rows follow",
        BLUR,
        lambda p: p.fuse_loops("bx.y", "out.y", shift=1),
        OrderViolatedError,
        "a read of bx would run before the write it needs",
        (
            lambda p: p.fuse_loops("bx.y", "out.y", shift=2),
            lambda p: p.fuse_loops("bx.y", "out.y", shift=3),
        ),
    ),
    Wrong(
        "an interchange against the distance (1, -1)",
        DIAGONAL,
        lambda p: p.interchange("a.i", "a.j"),
        NotPermutableError,
        "would run a reader before its writer",
        (
            lambda p: p.skew("a.j", by="a.i").interchange("a.i", "a.j"),
            lambda p: p.split("a.j", 4),
        ),
    ),
    Wrong(
        "a parallel loop that carries a dependence",
        DIAGONAL,
        lambda p: p.parallelize("a.i"),
        ParallelCarriedError,
        "a.i cannot run in parallel: its iterations share elements of a",
        (lambda p: p.parallelize("a.j"),),
    ),
    Wrong(
        "a result fused away",
        BLUR_KEPT,
        lambda p: p.tile("out", y=4).fuse("bx", into="out", keep=False),
        LiveOutError,
        "bx is live-out: fusing it away would lose its values",
        (
            lambda p: p.tile("out", y=4).fuse("bx", into="out"),
            lambda p: p.tile("out", y=4).fuse("bx", into="out", keep=True),
        ),
        dropped,
    ),
    Wrong(
        "a buffer one row short",
        BLUR,
        lambda p: tiled(p).store("bx", extents={"y": 5}),
        StorageTooSmallError,
        "is too small for the elements of bx that a tile uses",
        (
            lambda p: tiled(p).store("bx", extents={"y": 6}),
            lambda p: tiled(p).store("bx", extents={"y": 7, "x": 16}),
        ),
    ),
    Wrong(
        "a buffer one column short",
        BLUR,
        lambda p: tiled(p).store("bx", extents={"x": 7}),
        StorageTooSmallError,
        "is too small for the elements of bx that a tile uses",
        (lambda p: tiled(p).store("bx", extents={"x": 8}),),
    ),
    Wrong(
        "8 lanes over a dependence of distance 3",
        LAG,
        lambda p: p.vectorize("a.i", 8),
        VectorCarriedError,
        "iterations closer than its width share a",
        (
            lambda p: p.vectorize("a.i", 2),
            lambda p: p.vectorize("a.i", 3),
        ),
    ),
)

each = pytest.mark.parametrize("wrong", WRONG, ids=lambda w: w.name)


def refused(wrong: Wrong) -> IllegalScheduleError:
    with pytest.raises(wrong.error) as caught:
        wrong.make(po.Plan(po.parse_c(wrong.text)))
    return caught.value


def unchecked(wrong: Wrong) -> po.Plan:
    plan = replace(po.Plan(po.parse_c(wrong.text)), checked=False)
    return (wrong.anyway or wrong.make)(plan)


def instances(witness):
    return witness.source, witness.sink


def assert_same(plan, sizes):
    arrays = random_arrays(plan.scop, sizes)
    expected, actual = interpret(plan.scop, sizes, arrays), run_plan(plan, sizes, arrays)
    assert sorted(expected) == sorted(actual)
    for name, values in expected.items():
        np.testing.assert_array_equal(actual[name], values)


@each
def test_it_is_refused_with_place_witness_and_hint(wrong):
    error = refused(wrong)
    assert isinstance(error, IllegalScheduleError)
    assert type(error) is wrong.error
    text = str(error)
    assert wrong.says in text
    assert re.match(r"<program>:\d+:\d+: " + re.escape(error.code) + ": ", text), text
    assert re.search(r"^ +\| +\^+$", text, re.MULTILINE), text
    assert re.search(r"note: witness: \w+.* -> \w+\[.*\].* when [HWN] = \d+", text), text
    assert "  hint: " in text
    assert "isl" not in text
    assert "{" not in text


@each
def test_the_plan_computes_something_else_at_the_witness(wrong):
    (witness,) = refused(wrong).witnesses
    with pytest.raises(AssertionError):
        assert_same(unchecked(wrong), witness.params)


@each
def test_the_proof_alone_refuses_it_too(wrong):
    with pytest.raises(IllegalScheduleError) as caught:
        unchecked(wrong).prove()
    assert caught.value.witnesses


@each
def test_the_two_instances_clash(wrong):
    (witness,) = refused(wrong).witnesses
    plan, sizes = unchecked(wrong), witness.params
    if wrong.error in {ParallelCarriedError, VectorCarriedError}:
        one, other = (touched(plan.scop, sizes)[instance] for instance in instances(witness))
        assert witness.source != witness.sink
        assert one.writes & (other.reads | other.writes)
        return
    before, after = sources_of_source(plan.scop, sizes), sources_of_plan(plan, sizes)
    changed = {event for event, source in before.items() if after.get(event) != source}
    if witness.cell is not None and wrong.error is StorageTooSmallError:
        name, element = witness.cell
        statement = plan.scop.statement(witness.sink[0])
        assert (name, element) in {
            *touched(plan.scop, sizes)[witness.sink].reads,
            *touched(plan.scop, sizes)[witness.sink].writes,
        }
        readers = (
            {e for e in changed if element == e.element} if statement.array == name else changed
        )
        assert readers
        return
    hit = {
        event
        for event in changed
        if witness.source in before[event]
        and ((event.statement, event.iterators) == witness.sink or event.reference == "end")
    }
    assert hit, (witness, changed)


@each
def test_its_neighbours_are_legal_and_right(wrong):
    for make in wrong.legal:
        plan = make(po.Plan(po.parse_c(wrong.text)))
        plan.prove()
        for size in (3, 4, 7, 12):
            assert_same(plan, dict.fromkeys(plan.scop.params, size))
