"""Break polyopt on purpose: every fault has to be seen by a check that the fault does not touch.

Two kinds of faults. One is in what makes plans (fusion, buffers, moves, code generation): the
plan is wrong, so the proof has to refuse it. The other is in the proof: it accepts a wrong
plan, so the run has to differ. In both the executor of tests/oracle/transformed.py, or the
compiled kernel, is the judge. Without the fault all is well: the plan is right, or refused.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import pytest

import polyopt as po
from polyopt.analysis.interpreter.interpret import interpret
from polyopt.codegen.lower import lowering as generating
from polyopt.codegen.schedule import accesses as hosting
from polyopt.codegen.schedule import tree as building
from polyopt.errors import ArgumentError, IllegalScheduleError
from polyopt.isl import Set, affine_constant, constant_value, dim_type
from polyopt.transform import plan as planning
from polyopt.transform.legality import parallel
from polyopt.transform.legality import proof as prove
from polyopt.transform.loops import fuse_loops, skew
from polyopt.transform.schedule import access as touch
from polyopt.transform.schedule import program, storage
from polyopt.transform.schedule.tree import PlanLoop
from polyopt.transform.storage import fuse
from tests.oracle.transformed import random_arrays, run_plan

if TYPE_CHECKING:
    from collections.abc import Callable

BLUR = """
void blur(int H, int W, const float img[H][W], float out[H - 2][W - 2])
{
    float bx[H][W - 2];
    for (int y = 0; y < H; y++)
        for (int x = 0; x < W - 2; x++)
            bx[y][x] = img[y][x] + img[y][x + 1] + img[y][x + 2];
    for (int y = 0; y < H - 2; y++)
        for (int x = 0; x < W - 2; x++)
            out[y][x] = TERMS;
}
"""
THREE = BLUR.replace("TERMS", "bx[y][x] + bx[y + 1][x] + bx[y + 2][x]")
#: the row that a plan may lose stands at each place of the sum
ORDERS = [
    BLUR.replace("TERMS", terms)
    for terms in (
        "bx[y + 2][x] + bx[y + 1][x] + bx[y][x]",
        "bx[y][x] + bx[y + 2][x] + bx[y + 1][x]",
        "bx[y][x] + bx[y + 1][x] + bx[y + 2][x]",
    )
]
#: a consumer that reads the caller's values of what a later statement overwrites
ANTI = """
void shiftdown(int N, float a[N + 1], float b[N])
{
    for (int i = 0; i < N; i++)
        b[i] = a[i + 1];
    for (int i = 0; i < N; i++)
        a[i] = i;
}
"""
#: two writers of one element
OUTPUT = """
void twice(int N, float a[N], const float b[N])
{
    for (int i = 0; i < N; i++)
        a[i] = b[i];
    for (int i = 0; i < N - 1; i++)
        a[i + 1] = 2 * b[i];
}
"""
DIAGONAL = """
void diagonal(int N, float a[N][N])
{
    for (int i = 1; i < N; i++)
        for (int j = 0; j < N - 1; j++)
            a[i][j] = a[i - 1][j + 1] + 1;
}
"""
#: iterations that only read what others write
BACKWARD = """
void backward(int N, float a[N + 1])
{
    for (int i = 0; i < N; i++)
        a[i] = a[i + 1];
}
"""
#: iterations that only write what others write
SAME = """
void same(int N, const float a[N], float last[1])
{
    for (int i = 0; i < N; i++)
        last[0] = a[i];
}
"""
TWO_READERS = """
void two(int N, const float a[N], float one[N], float other[N])
{
    float mid[N];
    for (int i = 0; i < N; i++)
        mid[i] = 2 * a[i];
    for (int i = 0; i < N; i++)
        one[i] = mid[i] + 1;
    for (int i = 0; i < N; i++)
        other[i] = mid[i] + 2;
}
"""
POINTWISE = """
void pointwise(int N, const float a[N], float b[N])
{
    for (int i = 1; i < N - 1; i++)
        b[i] = a[i] + 1;
}
"""
SIZES = {"H": 9, "W": 10, "N": 8}


@dataclass(frozen=True)
class Fault:
    """A fault, a plan that shows it, and what else is patched so that it goes through."""

    name: str
    #: (where, name of the function, the wrong function made of the right one)
    patches: tuple[tuple[object, str, Callable], ...]
    text: str
    make: Callable[[po.Plan], po.Plan]


def sizes_of(scop):
    return {name: SIZES[name] for name in scop.params}


def differs(plan) -> bool:
    """Whether a plan computes something else than its source, told by running both."""
    sizes = sizes_of(plan.scop)
    arrays = random_arrays(plan.scop, sizes)
    expected = interpret(plan.scop, sizes, arrays)
    try:
        actual = run_plan(plan, sizes, arrays)
    except ArgumentError:  # it leaves an array
        return True
    return any(not np.array_equal(expected[name], actual[name]) for name in expected)


def kernel_differs(plan) -> bool:
    """The same for the compiled plan."""
    sizes = sizes_of(plan.scop)
    arrays = random_arrays(plan.scop, sizes)
    expected = interpret(plan.scop, sizes, arrays)
    named = {n: v.copy() for n, v in arrays.items() if plan.scop.array(n).role != "out"}
    empty = {n: v.copy() for n, v in arrays.items() if plan.scop.array(n).role == "out"}
    plan.compile(openmp=False)(**named, **sizes, **({"out": empty} if empty else {}))
    actual = {**named, **empty}
    return any(not np.array_equal(expected[name], actual[name]) for name in expected)


def broken(fault, monkeypatch) -> None:
    for where, name, wrong in fault.patches:
        monkeypatch.setattr(where, name, wrong(getattr(where, name)))


def start(fault, *, checked=True):
    return replace(po.Plan(po.parse_c(fault.text)), checked=checked)


# -- what the faults do -------------------------------------------------------------------------


def first_removed(right):
    """Instances ``{ [t] -> P[j] }`` without the first of each tile."""

    def wrong(*args):
        found = right(*args)
        return found.subtract(found.lexmin())

    return wrong


def last_removed(right):
    """Instances ``{ [t] -> P[j] }`` without the last of each tile."""

    def wrong(*args):
        found = right(*args)
        return found.subtract(found.lexmax())

    return wrong


def one_shorter(dimension):
    """A scratch with one element less along a dimension."""

    def change(right):
        def wrong(*args):
            found = right(*args)
            extents = list(found.extents)
            size = constant_value(extents[dimension])
            extents[dimension] = affine_constant(extents[dimension].get_domain_space(), size - 1)
            return replace(found, extents=tuple(extents))

        return wrong

    return change


def starts_later(right):
    """A scratch whose first element is one further on."""

    def wrong(*args):
        found = right(*args)
        first = found.offsets[0]
        moved = first.add(affine_constant(first.get_domain_space(), 1))
        return replace(found, offsets=(moved, *found.offsets[1:]))

    return wrong


def smaller_fold(right):
    return lambda *args: tuple(max(fold - 1, 0) for fold in right(*args))


def nothing_new(right):
    """Of a sliding window's first position, nothing is computed."""

    def wrong(instances, domain):
        found = right(instances, domain)
        return found.subtract_domain(found.domain().lexmin())

    return wrong


def producers_last(right):
    """The fused producers stand after their readers."""

    def wrong(before, node, *args):
        result = right(before, node, *args)

        def turned(tree):
            return tuple(
                replace(n, body=n.body[::-1] if n.name == node.name else turned(n.body))
                if isinstance(n, PlanLoop)
                else n
                for n in tree
            )

        return replace(result, tree=turned(result.tree))

    return wrong


def loses_originals(right):
    """Other readers of a fused producer are forgotten."""

    return lambda *args, keep: right(*args, keep=False)


def no_shift(right):
    del right
    return lambda node, moved, amount: node


def other_way(right):
    return lambda found, loop, by, factor: right(found, loop, by, -factor)


def swapped_bodies(right):
    """Fused loops run the second body first."""

    def wrong(one, other, depth):
        joined = right(one, other, depth)
        return replace(joined, body=joined.body[::-1])

    return wrong


def operand_off_by_one(right):
    """An inlined read evaluates the neighbour of the instance that it needs."""

    def wrong(scop, flow, copy, access):
        found = right(scop, flow, copy, access)
        if found is None:
            return None
        last = found.domain.dim(dim_type.set) - 1
        moved = found.domain.identity()
        form = moved.as_pw_multi_aff()
        value = form.get_at(last)
        form = form.set_pw_aff(last, value.add(affine_constant(value.get_domain_space(), 1)))
        return replace(found, domain=found.domain.apply(form.as_map()))

    return wrong


def without_reads(number):
    """The proof does not see a statement's read number ``number``."""

    def change(right):
        return property(
            lambda found: tuple(
                t
                for t in right.func(found)
                if not t.access.ref.startswith("out") or not t.access.ref.endswith(f"_r{number}")
            )
        )

    return change


def nothing(right):
    del right
    return lambda *args: []


def accepted(right):
    del right
    return lambda *args: None


def only_missing(right):
    """Reads that see a value where the source has none are passed over: anti dependences."""

    def wrong(found, flow, expected):
        writers = prove.union_all(w.to_source.range_factor_domain() for w in found.writes)
        readers = prove.union_all(t.to_source for t in found.reads).domain()
        ends = flow.raw.range().subtract(readers)
        fed = expected.range().union(ends)
        kept = flow.raw.intersect_range(fed)
        del writers
        return right(found, replace(flow, raw=kept), expected)

    return wrong


def no_fold_in_cells(right):
    """The proof gives every row of a folded buffer a place of its own."""

    def wrong(scratch, array, *, flat=False):
        found = right(scratch, array, flat=flat)
        if not scratch.is_folded:
            return found
        everything = Set.universe(found.get_space().domain())
        return everything.flatten_map().set_tuple_name(dim_type.out, scratch.name)

    return wrong


def no_upper_bound(right):
    """The proof gives elements beyond a buffer's end a place."""

    def wrong(scratch, array, *, flat=False):
        wide = tuple(affine_constant(e.get_domain_space(), 1 << 20) for e in scratch.extents)
        return right(replace(scratch, extents=wide), array, flat=flat)

    return wrong


def positions_ignored(right):
    """Where statements stand in the text counts for nothing."""
    return lambda copy, place, depth, micro=0: right(
        copy, replace(place, positions=()), depth, micro
    )


def reads_do_not_clash(right):
    """Marks look at writes alone."""
    return lambda write, other, depth, loop: (
        right(write, other, depth, loop) if write.access.ref == other.access.ref else None
    )


def writes_do_not_clash(right):
    """Marks look at reads alone."""
    return lambda write, other, depth, loop: (
        right(write, other, depth, loop) if write.access.ref != other.access.ref else None
    )


def narrower(right):
    """Lanes less than half the width apart count, no others."""
    return lambda space, depth, width: right(space, depth, width // 4)


def recomputed_unseen(right):
    """Reads of recomputed instances are not compared."""

    def wrong(found, original):
        seen = [t for t in found.reads if not found.copies[t.host].outer]
        names = [t.to_source for t in seen] + prove._final_names(found)
        return original.seen.apply_range(prove.union_all(names).reverse()).coalesce()

    del right
    return wrong


def guards_dropped(right):
    """Conditions around generated statements are left out."""
    return lambda generator, node, names, marks: right(generator, node, names, marks).then


def instance_dropped(right):
    """Generated code misses the last instance of every copy."""

    def wrong(instances, tuples):
        result = right(instances, tuples)
        return result.subtract(result.lexmax())

    return wrong


def folds_unprinted(right):
    """Generated subscripts of a folded dimension wrap one too early."""
    return lambda expr, fold: right(expr, fold - 1)


def bodies_turned(right):
    """Generated sequences run backwards."""
    return lambda found, node, tree: right(found, node, tuple(reversed(tree)))


# -- the tables ---------------------------------------------------------------------------------


def fused(plan):
    return plan.tile("out", y=4, x=4).fuse("bx", into="out")


def sliding(plan):
    return plan.fuse("bx", into="out", storage="sliding")


def turned(plan):
    """The statements of every loop body in the opposite order."""
    (loop,) = plan.program.tree
    tree = (replace(loop, body=loop.body[::-1]),)
    found = replace(plan, program=replace(plan.program, tree=tree))
    if plan.checked:
        found.prove()
    return found


#: faults in what makes plans: the proof refuses
WRONG_PLANS = (
    Fault("the first extension instance", ((fuse, "_instances", first_removed),), THREE, fused),
    Fault("the last extension instance", ((fuse, "_instances", last_removed),), THREE, fused),
    Fault("a row of a scratch", ((program, "fit", one_shorter(0)),), THREE, fused),
    Fault("a column of a scratch", ((program, "fit", one_shorter(1)),), THREE, fused),
    Fault("a scratch starts one later", ((program, "fit", starts_later),), THREE, fused),
    Fault("a window one row too small", ((fuse, "_window", smaller_fold),), THREE, sliding),
    Fault("the window's first filling", ((fuse, "new_instances", nothing_new),), THREE, sliding),
    Fault("producer after consumer", ((fuse, "_graft", producers_last),), THREE, fused),
    Fault(
        "a producer that others read",
        ((fuse, "_drop_originals", loses_originals),),
        TWO_READERS,
        lambda p: p.tile("one", i=4).fuse("mid", into="one"),
    ),
    Fault(
        "a shift that does nothing",
        ((skew, "_later", no_shift),),
        THREE,
        lambda p: p.fuse_loops("bx.y", "out.y", shift=2),
    ),
    Fault(
        "a skew the other way",
        ((planning, "skew", other_way),),
        DIAGONAL,
        lambda p: p.skew("a.j", by="a.i").interchange("a.i", "a.j"),
    ),
    Fault(
        "fused bodies in the wrong order",
        ((fuse_loops, "_join", swapped_bodies),),
        TWO_READERS,
        lambda p: p.fuse_loops("mid.i", "one.i"),
    ),
    Fault(
        "an inlined neighbour",
        ((touch, "_operand", operand_off_by_one),),
        TWO_READERS,
        lambda p: p.inline("mid"),
    ),
)


def early(plan):
    return plan.fuse_loops("bx.y", "out.y", shift=1)


#: faults in the proof: the run differs
WRONG_PROOFS = (
    *(
        Fault(
            f"flow of read {number}",
            ((program.ScheduledProgram, "read_events", without_reads(number)),),
            text,
            early,
        )
        for number, text in enumerate(ORDERS)
    ),
    Fault(
        "flow of all reads",
        ((program.ScheduledProgram, "_loads", lambda _: lambda *args: iter(())),),
        DIAGONAL,
        lambda p: p.interchange("a.i", "a.j"),
    ),
    Fault(
        "anti dependences",
        ((prove, "check_flow", only_missing),),
        ANTI,
        lambda p: p.fuse_loops("b.i", "a.i").shift("b", i=2),
    ),
    Fault(
        "output dependences",
        ((prove, "_final_reads", nothing),),
        OUTPUT,
        lambda p: p.fuse_loops("a_0.i", "a_1.i"),
    ),
    Fault(
        "the fold in a cell",
        ((storage, "layout", no_fold_in_cells),),
        THREE,
        lambda p: sliding(p).store("bx", fold={"y": 2}),
    ),
    Fault(
        "the end of a buffer",
        ((storage, "layout", no_upper_bound),),
        THREE,
        lambda p: fused(p).store("bx", extents={"y": 5}),
    ),
    Fault(
        "a buffer that is not filled",
        ((prove, "check_live_in", accepted),),
        POINTWISE,
        lambda p: p.store("a", at="b.i"),
    ),
    Fault(
        "recomputed instances",
        ((prove, "expected_flow", recomputed_unseen), (prove, "check_flow", only_missing)),
        """
        void chain(int N, const float a[N], float c[N])
        {
            float b[N], d[N];
            for (int i = 0; i < N; i++)
                b[i] = a[i];
            for (int i = 0; i < N; i++)
                d[i] = b[i];
            for (int i = 0; i < N; i++)
                c[i] = d[i];
        }
        """,
        lambda p: p.fuse("d", into="c").shift("b", i=3).fuse_loops("b.i", "c.i"),
    ),
    Fault(
        "the order of statements",
        ((program, "time_map", positions_ignored),),
        """
        void swap(int N, const float a[N], float c[N])
        {
            float b[N];
            for (int i = 0; i < N; i++) {
                b[i] = a[i];
                c[i] = b[i];
            }
        }
        """,
        turned,
    ),
    Fault(
        "a parallel loop's reads",
        ((parallel, "_clash", reads_do_not_clash),),
        BACKWARD,
        lambda p: p.parallelize("a.i"),
    ),
    Fault(
        "a parallel loop's writes",
        ((parallel, "_clash", writes_do_not_clash),),
        SAME,
        lambda p: p.parallelize("last.i"),
    ),
    Fault(
        "the width of a vector",
        ((parallel, "_within", narrower),),
        "void lag(int N, float a[N]) { for (int i = 3; i < N; i++) a[i] = a[i - 3] * 2; }",
        lambda p: p.vectorize("a.i", 8),
    ),
)


#: faults in code generation: the compiled kernel differs
WRONG_CODE = (
    Fault(
        "the guard of an unrolled loop",
        ((generating._Lowering, "_if", guards_dropped),),
        POINTWISE,
        lambda p: p.unroll("b.i", 4),
    ),
    Fault(
        "an instance in the tree",
        ((building, "on_tuples", instance_dropped),),
        POINTWISE,
        lambda p: p.tile("b", i=3),
    ),
    Fault("a fold's size", ((hosting, "_modulo", folds_unprinted),), THREE, sliding),
    Fault("a sequence's order", ((building._Filler, "fill", bodies_turned),), THREE, fused),
)


def table(faults):
    return pytest.mark.parametrize("fault", faults, ids=lambda f: f.name)


def test_there_are_enough_of_them():
    assert len(WRONG_PLANS) + len(WRONG_PROOFS) + len(WRONG_CODE) >= 25


@table(WRONG_PLANS)
def test_the_proof_refuses_what_a_broken_move_makes(fault, monkeypatch):
    right = fault.make(start(fault))
    assert not differs(right)
    broken(fault, monkeypatch)
    assert differs(fault.make(start(fault, checked=False)))
    with pytest.raises(IllegalScheduleError):
        fault.make(start(fault))


@table(WRONG_PROOFS)
def test_the_run_differs_where_a_broken_proof_accepts(fault, monkeypatch):
    with pytest.raises(IllegalScheduleError):
        fault.make(start(fault))
    broken(fault, monkeypatch)
    assert differs(fault.make(start(fault)))


@table(WRONG_CODE)
def test_the_kernel_differs_where_code_generation_is_broken(fault, monkeypatch):
    plan = fault.make(start(fault))
    assert not kernel_differs(plan)
    broken(fault, monkeypatch)
    assert kernel_differs(fault.make(start(fault)))
